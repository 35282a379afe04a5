/* `commcomp lab-enter HOST COMMAND...`: runs a command on a host of the lab. mpirun calls it inside
 * the lab; people do not, and --help does not list it. */
#ifndef CC_CMD_LAB_ENTER_H
#define CC_CMD_LAB_ENTER_H

/* Called with main's arguments; returns only if the command cannot be started. */
int cc_lab_enter_main(int argc, char **argv);

#endif
