// Connects a stream to a port inside of a pod's network namespace. A connection cannot be moved
// between namespaces without native code, so a process in the namespace copies.

import { spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { CriError } from '#cri/index.ts';

/** Copies between its standard streams and a port; exits with 3 if it cannot connect. */
const COPY = `
const socket = require('node:net').connect({
  port: Number(process.argv[1]), host: '127.0.0.1', allowHalfOpen: true,
});
let connected = false;
socket.once('connect', () => { connected = true; process.stderr.write('ok'); });
socket.once('error', (error) => {
  if (!connected) process.stderr.write(error.message);
  process.exit(connected ? 0 : 3);
});
socket.once('close', () => process.exit(0));
process.stdin.pipe(socket);
socket.pipe(process.stdout);
`;
const MAX_MESSAGE = 1000;

/**
 * Copies until either side has closed. `enter`: the command that enters the namespace. Rejects with
 * Unavailable if no process listens on the port.
 */
export async function forwardInNamespace(
  enter: readonly string[],
  port: number,
  stream: Duplex,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const [program = '', ...args] = [...enter, process.execPath, '-e', COPY, String(port)];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: {} });
  const stop = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', stop, { once: true });
  try {
    let message = '';
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string): void =>
        reject(new CriError('Unavailable', `cannot connect to port ${port}: ${why}`));
      child.stderr.on('data', (chunk: Buffer) => {
        message = (message + chunk.toString()).slice(0, MAX_MESSAGE);
        if (message === 'ok') resolve();
      });
      child.once('error', (error) => fail(error.message));
      child.once('close', () => fail(message));
    });
    child.stdin.on('error', () => stream.destroy());
    stream.on('error', stop);
    stream.once('close', stop);
    child.stdout.once('end', () => !stream.writableEnded && stream.end());
    stream.pipe(child.stdin);
    child.stdout.pipe(stream, { end: false });
    await finished(child.stdout).catch(() => undefined);
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}
