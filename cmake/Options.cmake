# Warnings, hardening and sanitizers, for every target.
add_compile_definitions(_GNU_SOURCE CORESCAN_VERSION="${PROJECT_VERSION}")
add_compile_options(-Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes
                    -Wold-style-definition -Wpointer-arith -Wvla -Wundef -Wwrite-strings
                    -Wimplicit-fallthrough)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
	add_compile_options(-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Walloc-zero
	                    -Wstack-usage=32768)
else()
	# The error object's hand-over macros are statement expressions on purpose.
	add_compile_options(-Wno-gnu-statement-expression)
endif()
if(CORESCAN_WERROR)
	add_compile_options(-Werror)
endif()
if(CORESCAN_SANITIZE)
	add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
	                    -fno-omit-frame-pointer)
	add_link_options(-fsanitize=address,undefined)
else()
	if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
		add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
	endif()
	add_compile_options(-fstack-protector-strong)
	add_link_options(-Wl,-z,relro,-z,now)
endif()
if(CORESCAN_FUZZ)
	add_compile_options(-fsanitize=fuzzer-no-link)
endif()
