// The open files of the processes of a container.

import type { Steps } from '#machinery/turn.ts';

export interface Descriptors {
  readonly files: number;
  /** Absent: there are too many files to look at each. */
  readonly sockets?: number;
  /** The soft limit of open files, of the first process. Infinity: none. */
  readonly maxOpenFiles?: number;
}

/** The processes of the machine. node/process-files.ts implements it. */
export interface ProcessFiles {
  /** Returns the names of the open files of a process; undefined if it has ended. */
  open(pid: number): readonly string[] | undefined;
  /** Returns the target of an open file, such as 'socket:[1]'; undefined if it was closed. */
  target(pid: number, name: string): string | undefined;
  /** Returns /proc/PID/limits; undefined if the process has ended. */
  limits(pid: number): string | undefined;
}

/** The files of a container that are looked at one by one. */
const MAX_FILES = 20_000;
/** Some milliseconds. */
const FILES_PER_STEP = 1000;

/** Counts the open files of processes, which may end meanwhile. */
export function* countDescriptors(
  pids: readonly number[],
  processes: ProcessFiles,
): Steps<Descriptors> {
  let files = 0;
  let sockets = 0;
  let looked = 0;
  for (const pid of pids) {
    const names = processes.open(pid) ?? [];
    files += names.length;
    if (files > MAX_FILES) continue;
    for (const name of names) {
      if (++looked % FILES_PER_STEP === 0) yield;
      if (processes.target(pid, name)?.startsWith('socket') === true) sockets++;
    }
  }
  const first = pids.length === 0 ? undefined : processes.limits(Math.min(...pids));
  const limit = /^Max open files +(\S+)/m.exec(first ?? '')?.[1];
  return {
    files,
    ...(files <= MAX_FILES && { sockets }),
    ...(limit !== undefined && {
      maxOpenFiles: limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit),
    }),
  };
}
