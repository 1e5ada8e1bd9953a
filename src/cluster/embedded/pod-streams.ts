// Commands in containers, and connections to ports of pods, through the API server.

import type { Agent } from 'node:http';
import { text } from 'node:stream/consumers';
import { PassThrough, Readable, type Duplex } from 'node:stream';
import { resourcePath } from '#client/request.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { execOverWebSocket, portForwardOverSpdy } from '#machinery/streams/remotecommand/index.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';

/** The connection to the API server in this process. */
export interface StreamAccess {
  readonly clock: Clock;
  /** Makes connections to the API server, as a user who may use the pods. */
  readonly agent: Agent;
}

export interface PodOptions {
  /** Default: 'default'. */
  readonly namespace?: string;
  readonly signal?: AbortSignal;
}

export interface ExecOptions extends PodOptions {
  /** Default: the pod's default container. */
  readonly container?: string;
  /** The stdin of the command. Default: it has none. */
  readonly stdin?: string | Uint8Array | Readable;
}

export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** The server's name in URLs. It is never resolved: connections come from the agent. */
const ORIGIN = 'http://coxswain';

/**
 * Runs a command and resolves with its output. An exit code other than 0 is not an error. Rejects
 * with StatusError.
 */
export async function execInPod(
  access: StreamAccess,
  pod: string,
  command: readonly string[],
  { namespace = 'default', container, stdin, signal }: ExecOptions = {},
): Promise<ExecResult> {
  const query = new URLSearchParams({ stdout: 'true', stderr: 'true' });
  if (stdin !== undefined) query.set('stdin', 'true');
  if (container !== undefined) query.set('container', container);
  for (const part of command) query.append('command', part);
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const output = Promise.all([text(stdout), text(stderr)]);
  // Rejected with the command's failure below, if at all.
  output.catch(() => undefined);
  try {
    const { exitCode } = await execOverWebSocket(
      {
        url: `${ORIGIN}${resourcePath(pods, namespace, pod, 'exec')}?${query.toString()}`,
        connection: { agent: access.agent },
        clock: access.clock,
        signal,
      },
      { stdout, stderr, stdin: readable(stdin) },
    );
    const [out, err] = await output;
    return { stdout: out, stderr: err, exitCode };
  } catch (error) {
    stdout.destroy();
    stderr.destroy();
    throw error;
  }
}

function readable(stdin: ExecOptions['stdin']): Readable | undefined {
  if (stdin === undefined || stdin instanceof Readable) return stdin;
  return Readable.from([Buffer.from(stdin)]);
}

/**
 * Returns one connection to a port of the pod. The connection is destroyed with the error if the
 * port cannot be reached.
 */
export async function connectToPod(
  access: StreamAccess,
  pod: string,
  port: number,
  { namespace = 'default', signal }: PodOptions = {},
): Promise<Duplex> {
  const forwarder = await portForwardOverSpdy({
    url: `${ORIGIN}${resourcePath(pods, namespace, pod, 'portforward')}`,
    connection: { agent: access.agent },
    clock: access.clock,
    signal,
  });
  const [near, middle] = duplexPair();
  const [inner, far] = duplexPair();
  middle.pipe(inner);
  inner.pipe(middle, { end: false });
  // The connection ends with the pod's output, as for kubectl. Only the outcome distinguishes a
  // failure from the end.
  inner.once('end', () => {
    middle.unpipe(inner).resume();
    inner.end();
  });
  forwarder.forward(port, far).then(
    () => {
      middle.end();
      forwarder.close();
    },
    (error: unknown) => {
      near.destroy(error as Error);
      forwarder.close();
    },
  );
  near.once('close', () => forwarder.close());
  return near;
}
