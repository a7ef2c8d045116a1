/* Agents of the fossology dialect, good and bad, written from its description
 * and using stdio only. The first argument says which one this is to be. What
 * the scheduler writes is kept byte for byte in the file named by $HEARD. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char line[1 << 16];
static FILE *heard;

/* say flushes, as the library does. */
static void say(const char *text) {
	fputs(text, stdout);
	fflush(stdout);
}

static char *next(void) {
	if (fgets(line, sizeof line, stdin) == NULL) return NULL;
	if (heard) {
		fputs(line, heard);
		fflush(heard);
	}
	return line;
}

static void greet(void) { say("VERSION: 4.4.0\n\nOK\n"); }

/* until waits for a line that begins with word, saying OK to each END, as the
 * library's loop does; it returns how many data lines came before. */
static int until(const char *word) {
	int data = 0;
	while (next() != NULL) {
		if (strncmp(line, word, strlen(word)) == 0) return data;
		if (strncmp(line, "END", 3) == 0) say("\nOK\n");
		else if (strncmp(line, "VERBOSE", 7) != 0) data++;
	}
	return -1;
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "";
	const char *file = getenv("HEARD");
	if (file) heard = fopen(file, "w");
#define IS(name) (strcmp(what, name) == 0)

	if (IS("argv")) { /* tells what it was started with */
		char dir[4096];
		say("VERSION: 4.4.0\n");
		for (int i = 0; i < argc; i++) printf("argv[%d]=%s\n", i, argv[i]);
		printf("cwd=%s\n", getcwd(dir, sizeof dir));
		printf("leader=%d\n", getpgrp() == getpid());
		say("\nOK\n");
		until("CLOSE");
		say("\nBYE 0\n");
		return 0;
	}
	if (IS("five")) {
		greet();
		int n = until("CLOSE");
		printf("HEART: %d 1\n\nBYE 0\n", n * 5);
		fflush(stdout);
		return 9; /* BYE 0 is success whatever the exit status */
	}
	if (IS("bye7")) {
		greet();
		until("CLOSE");
		say("FATAL main.c.7: cannot go on\nHEART: 0 1\n\nBYE 7\n");
		return 0;
	}
	if (IS("noversion")) {
		say("\nOK\n");
		until("CLOSE");
		say("\nBYE 0\n");
		return 0;
	}
	if (IS("warning")) { /* something else has the first word, and not always */
		if (access(argv[2], F_OK) == 0) {
			fputs("WARNING: locale not found\n", stderr);
			unlink(argv[2]);
		}
		greet();
		until("CLOSE");
		say("\nBYE 0\n");
		return 0;
	}
	if (IS("version")) { /* another version while the file is there */
		say(access(argv[2], F_OK) == 0 ? "VERSION: 4.5.0\n\nOK\n" : "VERSION: 4.4.0\n\nOK\n");
		until("CLOSE");
		say("\nBYE 0\n");
		return 0;
	}
	if (IS("nobye")) {
		greet();
		until("END");
		fputs("cannot read the file\n", stderr);
		return 0;
	}
	if (IS("no2ndok")) {
		greet();
		until("END");
		say("SPECIAL: 1 1\nHEART: 0 1\n\nBYE 0\n");
		return 0;
	}
	if (IS("silent")) { /* for ever */
		greet();
		until("END");
		for (;;) pause();
	}
	if (IS("mute")) { /* not even a version */
		for (;;) pause();
	}
	if (IS("lifeless")) { /* beats, and does not get on */
		greet();
		until("END");
		for (;;) {
			say("HEART: 3 0\n");
			usleep(5000);
		}
	}
	if (IS("nokill")) { /* beats without life, and has asked for patience */
		say("VERSION: 4.4.0\nSPECIAL: 1 1\n\nOK\n");
		until("END");
		for (int i = 0; i < 60; i++) {
			say("HEART: 3 0\n");
			usleep(5000);
		}
		say("\nBYE 0\n");
		return 0;
	}
	if (IS("special")) { /* asks behind the OK for which there is data */
		int value = -1;
		say("VERSION: 4.4.0\nSPECIAL: 4 1\n\nOK\nGETSPECIAL: 4\n");
		if (scanf("VALUE: %d\n", &value) != 1) return 3;
		printf("the value is %d\n", value);
		say("SPECIAL: 4 0\nGETSPECIAL: 4\n");
		until("CLOSE");
		say("\nBYE 0\n");
		return 0;
	}
	if (IS("email")) {
		greet();
		until("CLOSE");
		say("EMAIL done, and well\nNOTICE main.c.1: \xff odd\n\nBYE 0\n");
		return 0;
	}
	if (IS("stays")) { /* will not leave after its last word */
		greet();
		until("CLOSE");
		say("\nBYE 0\n");
		for (;;) pause();
	}
	if (IS("dies")) {
		greet();
		until("END");
		raise(SIGSEGV);
	}
	if (IS("deaf")) { /* closes its stdin before its data comes */
		fclose(stdin);
		greet();
		sleep(1000);
	}
	if (IS("waits")) { /* until its stdin is closed, as these agents do */
		signal(SIGHUP, SIG_IGN);
		greet();
		while (next() != NULL) {}
		say("HEART: 1 1\n\nBYE 0\n");
		return 0;
	}
	return 2;
}
