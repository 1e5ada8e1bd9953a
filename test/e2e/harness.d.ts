import { type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
/** How Node runs the command: built, or with E2E_FROM_SOURCE=1 straight from src/. */
export declare const coxArgs: readonly string[];
export declare const fixture: (name: string) => string;
/** Why a test is skipped: shown in its name. Undefined: it runs. */
export declare const missingKubectl: string | undefined;
export declare const missingContainerd: string | undefined;
/** The name of a test or suite, with the reason if it is to be skipped. */
export declare const named: (name: string, missing: string | undefined) => string;
/** The kubectls at hand: the oldest and the newest of those beside the one in PATH (named kubectl.1.NN), or that one alone. */
export declare function kubectls(): readonly {
  readonly version: string;
  readonly path: string;
}[];
export declare function temporaryDir(): {
  readonly path: string;
  remove(): void;
};
export interface RunResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit status; -1 if it was killed by the timeout. */
  readonly status: number;
}
/** Runs a program to its end. Never throws for its exit status. */
export declare function run(
  program: string,
  args: readonly string[],
  options?: {
    input?: string;
    env?: NodeJS.ProcessEnv;
    cwd?: string;
    timeoutMs?: number;
  },
): Promise<RunResult>;
export declare class Kubectl {
  #private;
  readonly path: string;
  readonly kubeconfig: string;
  constructor(path: string, kubeconfig: string, home: string);
  get env(): NodeJS.ProcessEnv;
  /** Any exit status. */
  try(
    args: string,
    options?: {
      input?: string;
      timeoutMs?: number;
      env?: NodeJS.ProcessEnv;
    },
  ): Promise<RunResult>;
  /** Must succeed; answers stdout. */
  run(
    args: string,
    options?: {
      input?: string;
      timeoutMs?: number;
      env?: NodeJS.ProcessEnv;
    },
  ): Promise<string>;
  spawn(args: string): ChildProcess;
}
/** Splits as a shell would, quotes understood, nothing expanded. */
export declare function splitWords(text: string): string[];
export interface RunningCluster {
  readonly process: ChildProcess;
  readonly dataDir: string;
  readonly kubeconfig: string;
  /** Everything printed on stdout until it was ready. */
  readonly output: string;
  stderr(): string;
  kubectl(path?: string): Kubectl;
  /** SIGTERM, and the exit status. */
  stop(): Promise<number>;
  /** kill -9 of the process, as a crash. */
  kill(): Promise<void>;
}
/** Starts `cox up` and waits for its ready line. Throws with its output if it ends before. */
export declare function coxUp(
  flags: readonly string[],
  options: {
    dataDir: string;
    port?: number;
    env?: NodeJS.ProcessEnv;
  },
): Promise<RunningCluster>;
/** Waits until `condition` answers something truthy; throws with what it said last after the timeout. */
export declare function eventually<T>(
  what: string,
  condition: () => Promise<T | undefined | false>,
  timeoutMs?: number,
): Promise<T>;
export declare function writeManifest(dir: string, name: string, yaml: string): string;
export { existsSync, readFileSync };
