// Runs programs beside a cluster until the test ends.

import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { eventually } from '../harness.ts';

export interface RunningProgram {
  /** Returns the program's output. */
  output(): string;
  /** Sends SIGTERM, then waits for the process to end. */
  stop(): Promise<void>;
}

/**
 * Starts a program that should not end by itself; `alive` throws with its output if it has ended.
 */
export function startProgram(
  path: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): RunningProgram {
  const child = spawn(path, [...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      output += String(error);
      resolve();
    });
    child.once('exit', () => resolve());
  });
  return {
    output: () => output,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/**
 * Waits until the port accepts connections. Throws with the program's output if it does not within
 * a minute.
 */
export async function listening(
  port: number,
  program: RunningProgram,
  host = '127.0.0.1',
): Promise<void> {
  const connects = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, host);
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
  try {
    await eventually(`port ${port} is listening`, connects);
  } catch (error) {
    throw new Error(program.output().slice(-4000), { cause: error });
  }
}
