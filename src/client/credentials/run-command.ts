// Runs a credential plugin.

import { spawn } from 'node:child_process';

export interface CommandRequest {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in addition to this process' environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The plugin may read from this process' stdin. */
  readonly interactive: boolean;
  readonly timeoutMs: number;
}

export interface CommandResult {
  readonly stdout: string;
  readonly exitCode: number;
}

/** Runs a command. Rejects if it cannot be started, runs too long, or writes too much. */
export type RunCommand = (request: CommandRequest) => Promise<CommandResult>;

const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Runs the command without a shell. Its stderr is that of this process, because plugins show
 * prompts there.
 */
export const runCommand: RunCommand = ({ command, args, env, interactive, timeoutMs }) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_OUTPUT_BYTES) chunks.push(chunk);
      else child.kill('SIGKILL');
    });
    child.once('error', reject);
    child.once('close', (exitCode, signal) => {
      if (size > MAX_OUTPUT_BYTES)
        reject(new Error(`the output is larger than ${MAX_OUTPUT_BYTES} bytes`));
      else if (exitCode === null)
        reject(
          new Error(
            `the program was terminated by ${signal ?? 'a signal'} (time limit: ${timeoutMs} ms)`,
          ),
        );
      else resolve({ stdout: Buffer.concat(chunks).toString('utf8'), exitCode });
    });
  });
