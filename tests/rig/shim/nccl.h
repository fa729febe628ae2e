/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The public interface of NCCL, as far as PyTorch 1.13 to 2.14 uses it, in declarations
 * of our own.
 *
 * Facts from NVIDIA/nccl, src/nccl.h.in and src/include/nccl_device/core.h, v2.14.3 to
 * v2.30.7. With RIG_NCCL_HEADER the sources are compiled against the installed header
 * instead: then the numbers here are assertions, and a prototype that differs does not
 * compile. CMake does that where the header is installed.
 */
#ifndef RIG_NCCL_H
#define RIG_NCCL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* Name and number: an enumerator here, an assertion on the installed header. */
#define RIG_NCCL_RESULTS(F)                                                              \
	F(ncclSuccess, 0)                                                                \
	F(ncclUnhandledCudaError, 1)                                                     \
	F(ncclSystemError, 2)                                                            \
	F(ncclInternalError, 3)                                                          \
	F(ncclInvalidArgument, 4)                                                        \
	F(ncclInvalidUsage, 5)                                                           \
	F(ncclRemoteError, 6)                                                            \
	F(ncclInProgress, 7)
#define RIG_NCCL_OPERATIONS(F)                                                           \
	F(ncclSum, 0)                                                                    \
	F(ncclProd, 1)                                                                   \
	F(ncclMax, 2)                                                                    \
	F(ncclMin, 3)                                                                    \
	F(ncclAvg, 4)                                                                    \
	F(ncclNumOps, 5)                                                                 \
	F(ncclMaxRedOp, INT_MAX)
#define RIG_NCCL_TYPES(F)                                                                \
	F(ncclInt8, 0)                                                                   \
	F(ncclUint8, 1)                                                                  \
	F(ncclInt32, 2)                                                                  \
	F(ncclUint32, 3)                                                                 \
	F(ncclInt64, 4)                                                                  \
	F(ncclUint64, 5)                                                                 \
	F(ncclFloat16, 6)                                                                \
	F(ncclFloat32, 7)                                                                \
	F(ncclFloat64, 8)                                                                \
	F(ncclBfloat16, 9)
#define RIG_NCCL_TYPES_8(F) /* since 2.24 */                                             \
	F(ncclFloat8e4m3, 10)                                                            \
	F(ncclFloat8e5m2, 11)
#define RIG_NCCL_RESIDENCES(F)                                                           \
	F(ncclScalarDevice, 0)                                                           \
	F(ncclScalarHostImmediate, 1)

#define RIG_NCCL_BYTES_OF_ID 128
#define RIG_NCCL_CONFIG_MAGIC 0xcafebeefu
#define RIG_NCCL_SIMULATION_MAGIC 0x74685283u
#define RIG_NCCL_NO_COLOR (-1)
#define RIG_NCCL_SHRINK_ABORT 1
#define RIG_NCCL_TIMEOUT 8 /* a result since 2.30 */

#ifdef RIG_NCCL_HEADER

#include <nccl.h>

#define RIG_NCCL_ASSERT(name, number) _Static_assert((int)(name) == (int)(number), #name);
RIG_NCCL_RESULTS(RIG_NCCL_ASSERT)
RIG_NCCL_OPERATIONS(RIG_NCCL_ASSERT)
RIG_NCCL_TYPES(RIG_NCCL_ASSERT)
RIG_NCCL_RESIDENCES(RIG_NCCL_ASSERT)
#if NCCL_VERSION_CODE >= 22400
RIG_NCCL_TYPES_8(RIG_NCCL_ASSERT)
#endif
_Static_assert(NCCL_UNIQUE_ID_BYTES == RIG_NCCL_BYTES_OF_ID, "id");

#else

#define RIG_NCCL_ENUMERATOR(name, number) name = (number),
typedef enum { RIG_NCCL_RESULTS(RIG_NCCL_ENUMERATOR) } ncclResult_t;
typedef enum { RIG_NCCL_OPERATIONS(RIG_NCCL_ENUMERATOR) } ncclRedOp_t;
typedef enum {
	RIG_NCCL_TYPES(RIG_NCCL_ENUMERATOR) RIG_NCCL_TYPES_8(RIG_NCCL_ENUMERATOR)
} ncclDataType_t;
typedef enum { RIG_NCCL_RESIDENCES(RIG_NCCL_ENUMERATOR) } ncclScalarResidence_t;

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct CUstream_st *cudaStream_t;

typedef struct {
	char internal[RIG_NCCL_BYTES_OF_ID];
} ncclUniqueId;

/* Each version appends fields; SIZE says what the caller's has. Here: what all versions
 * since 2.14 have.
 */
typedef struct ncclConfig {
	size_t size;
	unsigned int magic;
	unsigned int version;
	int blocking; /* 0: calls answer ncclInProgress and go on in the background;
			 INT_MIN: not given */
} ncclConfig_t;

typedef struct ncclSimInfo {
	size_t size;
	unsigned int magic;
	unsigned int version;
	float estimatedTime;
} ncclSimInfo_t;

#endif

/* The part of the configuration that is read here lies where every version has it. */
_Static_assert(offsetof(ncclConfig_t, magic) == 8 &&
		       offsetof(ncclConfig_t, blocking) == 16,
	       "configuration");
_Static_assert(offsetof(ncclSimInfo_t, magic) == 8 &&
		       offsetof(ncclSimInfo_t, estimatedTime) == 16,
	       "simulation");

#if !defined(RIG_NCCL_HEADER) || NCCL_VERSION_CODE < 22902
/* Since 2.29. */
typedef struct {
	int opCnt;
	int peer;
	int sigIdx;
	int ctx;
} ncclWaitSignalDesc_t;
#endif
#if !defined(RIG_NCCL_HEADER) || NCCL_VERSION_CODE < 22907
/* Since 2.29.7; 0: can be suspended, 1: is suspended, 2: cannot be suspended, 3: total.
 */
typedef enum {
	ncclStatGpuMemSuspend,
	ncclStatGpuMemSuspended,
	ncclStatGpuMemPersist,
	ncclStatGpuMemTotal
} ncclCommMemStat_t;
#endif

/* Of the device interface only pointers pass through here. */
struct ncclDevCommRequirements;
struct ncclDevComm;

/* Communicators. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id,
				    int rank, ncclConfig_t *config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids,
				      ncclUniqueId *ids, ncclConfig_t *config);
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int ndev, const int *devices);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
			   ncclConfig_t *config);
ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded, int count,
			    ncclComm_t *newcomm, ncclConfig_t *config, int flags);
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank,
			  ncclComm_t *newcomm, ncclConfig_t *config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank);
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t what, uint64_t *value);

/* What is said of errors and versions. */
ncclResult_t ncclGetVersion(int *version);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);
void ncclResetDebugInit(void);

/* Memory, registration, windows, the device interface. */
ncclResult_t ncclMemAlloc(void **address, size_t size);
ncclResult_t ncclMemFree(void *address);
ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t size,
			      void **handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t size,
				    ncclWindow_t *window, int flags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window);
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void **address);
ncclResult_t ncclDevCommCreate(ncclComm_t comm,
			       const struct ncclDevCommRequirements *wanted,
			       struct ncclDevComm *device);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const struct ncclDevComm *device);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset,
					     void **address);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer,
				      void **address);

/* Operations. */
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
				      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);
ncclResult_t ncclReduce(const void *send, void *receive, size_t count,
			ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
			cudaStream_t stream);
ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root,
		       ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count,
			   ncclDataType_t type, int root, ncclComm_t comm,
			   cudaStream_t stream);
ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
			   ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
			   cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
			       ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
			       cudaStream_t stream);
ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
			   ncclDataType_t type, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAlltoAll(const void *send, void *receive, size_t count,
			  ncclDataType_t type, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclGather(const void *send, void *receive, size_t count,
			ncclDataType_t type, int root, ncclComm_t comm,
			cudaStream_t stream);
ncclResult_t ncclScatter(const void *send, void *receive, size_t count,
			 ncclDataType_t type, int root, ncclComm_t comm,
			 cudaStream_t stream);
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
		      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer,
		      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclPutSignal(const void *local, size_t count, ncclDataType_t type, int peer,
			   ncclWindow_t window, size_t offset, int signal, int context,
			   unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSignal(int peer, int signal, int context, unsigned int flags,
			ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t *signals, ncclComm_t comm,
			    cudaStream_t stream);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info);

#endif
