/* How the processes and files of a run are known: by a mark that is drawn for each run. */
#ifndef CC_NETSIM_LAB_MARK_H
#define CC_NETSIM_LAB_MARK_H

/* The environment variable of all processes of a run that holds its mark. mpirun passes variables
 * with this beginning on to ranks on other hosts. */
#define CC_MARK_VARIABLE "OMPI_COMMCOMP_RUN"
enum { CC_MARK_DIGITS = 32 };

/* A rank's folder for the memory that it shares: SHM/PREFIX MARK-PROCESS. */
#define CC_MARK_SHM    "/dev/shm"
#define CC_MARK_PREFIX "commcomp-"

#endif
