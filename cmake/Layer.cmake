# cs_layer(NAME [STRICT] SOURCES file... [LIBRARIES target...])
#
# One layer: an OBJECT library with an explicit list of sources, compiled PIC. STRICT adds -Wconversion.
function(cs_layer name)
	cmake_parse_arguments(ARG "STRICT" "" "SOURCES;LIBRARIES" ${ARGN})
	add_library(cs_${name} OBJECT ${ARG_SOURCES})
	target_include_directories(cs_${name} PUBLIC
		${PROJECT_SOURCE_DIR}/corescan ${PROJECT_SOURCE_DIR}/corescan/include
		${PROJECT_SOURCE_DIR})
	if(ARG_STRICT)
		target_compile_options(cs_${name} PRIVATE -Wconversion)
	endif()
	target_link_libraries(cs_${name} PUBLIC ${ARG_LIBRARIES})
	set_property(GLOBAL APPEND PROPERTY CS_LAYERS cs_${name})
endfunction()
