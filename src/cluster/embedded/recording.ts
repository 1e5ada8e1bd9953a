// Recordings of clients outside of the process: a file with one request a line, and its replay in another cluster.

import { closeSync, fchmodSync, openSync, readFileSync, writeSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import type { UserInfo } from '#apiserver/request.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import type { RecordedRequest } from '#simulation/index.ts';
import { LocalAgent } from './local-agent.ts';

const HEADER = { coxswain: 'recording', version: 1 } as const;

/** A recording that is being written. */
export interface Recording {
  add(request: RecordedRequest): void;
  close(): void;
}

/** Creates the file, readable by this user only: bodies may have secrets. Throws what the file system throws. */
export function openRecording(path: string): Recording {
  const file = openSync(path, 'w', 0o600);
  // A file that existed keeps its mode otherwise.
  fchmodSync(file, 0o600);
  let open = true;
  writeSync(file, `${JSON.stringify(HEADER)}\n`);
  return {
    add: (request) => {
      if (open) writeSync(file, `${JSON.stringify(request)}\n`);
    },
    close: () => {
      if (open) closeSync(file);
      open = false;
    },
  };
}

/** Throws TypeError for a file that is no recording, with the line. */
export function readRecording(path: string): readonly RecordedRequest[] {
  const [header = '', ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
  const parsed = parse(header, path, 1) as Partial<typeof HEADER>;
  if (parsed.coxswain !== HEADER.coxswain || parsed.version !== HEADER.version)
    throw new TypeError(`${path} is no recording of this version`);
  return lines.map((line, index) => {
    const request = parse(line, path, index + 2) as Partial<RecordedRequest>;
    const { atMs, user, method, path: target, headers, body } = request;
    if (
      typeof atMs !== 'number' ||
      typeof user?.name !== 'string' ||
      typeof method !== 'string' ||
      target?.startsWith('/') !== true ||
      typeof headers !== 'object' ||
      typeof body !== 'string'
    )
      throw new TypeError(`${path}:${index + 2}: this is no recorded request`);
    return request as RecordedRequest;
  });
}

function parse(line: string, path: string, number: number): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    throw new TypeError(`${path}:${number}: ${errorMessage(error)}`, { cause: error });
  }
  throw new TypeError(`${path}:${number}: this is no recorded request`);
}

export interface ReplayConfig {
  readonly clock: VirtualClock;
  readonly connect: (user: UserInfo) => Duplex;
}

/** A request that was replayed, and the status code of its response. */
export interface ReplayedRequest {
  readonly method: string;
  readonly path: string;
  readonly code: number;
}

/** Sends the requests one after the other, as their users, each at its time after the beginning of the replay. */
export async function replayRecording(
  requests: readonly RecordedRequest[],
  { clock, connect }: ReplayConfig,
): Promise<readonly ReplayedRequest[]> {
  const begin = clock.monotonic();
  const replayed: ReplayedRequest[] = [];
  for (const request of requests) {
    const wait = begin + request.atMs - clock.monotonic();
    if (wait > 0) await clock.advance(wait);
    const { method, path } = request;
    replayed.push({ method, path, code: await send(request, connect) });
    await clock.settle();
  }
  return replayed;
}

function send(
  { method, path, headers, body, user }: RecordedRequest,
  connect: (user: UserInfo) => Duplex,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { agent: new LocalAgent(() => connect(user)), host: 'coxswain', method, path, headers },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(Buffer.from(body, 'base64'));
  });
}
