// The program of a container, and the programs of the host that start it.

/** The user and groups that a program runs as. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

export interface Program {
  /** An absolute path, or a name in PATH. */
  readonly command: readonly [string, ...string[]];
  /** Undefined: the user and groups of this process. */
  readonly runAs: RunAs | undefined;
}

/** Programs of the host that a supervisor runs: absolute paths. */
export interface Tools {
  readonly env: string;
  /** Undefined if it is missing: containers then have the user of this process. */
  readonly setpriv: string | undefined;
}
