// Sequences of requests with delayed effects: definitions are established, published and removed
// asynchronously.

import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { differences, type Answer } from './compare.ts';
import type { ReportLines } from './report.ts';
import type { Shot } from './shots.ts';

/** A request whose answers are compared; `part` picks what is compared of the body. */
export interface Request extends Shot {
  readonly part?: (body: unknown) => unknown;
}

/**
 * Repeats a GET at each server until its answer is as expected. A server that never answers so is
 * reported.
 */
export interface Settle {
  readonly settle: string;
  readonly path: string;
  readonly accept?: string;
  readonly until: (answer: Answer) => boolean;
}

/** Sends requests, then watches from the revision before them. */
export interface Follow {
  readonly follow: string;
  /** The path of the list that gives the revision. */
  readonly list: string;
  /** The watch's path, without resourceVersion. */
  readonly watch: string;
  readonly accept?: string;
  readonly during: readonly Request[];
}

export type Step = Request | Settle | Follow;

export interface Server {
  send(shot: Shot): Promise<Answer>;
}

/** The two servers, and the functions that receive the results. */
export interface Comparison {
  readonly ours: Server;
  readonly theirs: Server;
  readonly report: ReportLines;
}

const SETTLE = { clock: systemClock, intervalMs: 100, timeoutMs: 30_000 };
const bare = (path: string, accept?: string): Shot => ({
  method: 'GET',
  path,
  type: '',
  body: '',
  changes: [],
  ...(accept !== undefined && { accept }),
});

/**
 * Runs the steps one after the other, each at both servers. Every comparison is reported, with the
 * differences or none.
 */
export async function compareSteps(steps: readonly Step[], comparison: Comparison): Promise<void> {
  for (const step of steps) {
    if ('settle' in step) await settle(step, comparison);
    else if ('follow' in step) await follow(step, comparison);
    else await compareRequest(step, comparison);
  }
}

async function compareRequest(
  request: Request,
  { ours, theirs, report }: Comparison,
): Promise<void> {
  const [own, other] = await Promise.all([ours.send(request), theirs.send(request)]);
  const pick = ({ code, body, warnings }: Answer): Answer => {
    return {
      code,
      warnings,
      body: sortedManagers(code < 300 && request.part !== undefined ? request.part(body) : body),
    };
  };
  const found = isOldEtcd(other) ? [] : differences(pick(own), pick(other));
  report(`${request.method} ${request.path}: ${request.changes.join('; ')}`, found);
}

/**
 * Reports whether the reference cannot begin a watch with initial events, because its etcd is older
 * than 3.4.31, or than 3.5.13.
 */
function isOldEtcd({ body }: Answer): boolean {
  return JSON.stringify(body).includes('required storage feature RequestWatchProgress is disabled');
}

async function settle(
  { settle: what, path, accept, until }: Settle,
  { ours, theirs, report }: Comparison,
): Promise<void> {
  const reached = async (server: Server): Promise<string[]> => {
    let last: Answer | undefined;
    try {
      await wait.pollImmediately(SETTLE, async () =>
        until((last = await server.send(bare(path, accept)))),
      );
      return [];
    } catch (error) {
      if (!(error instanceof wait.WaitTimeoutError)) throw error;
      return [
        `${server === ours ? 'ours' : 'the reference'} did not get there: ${JSON.stringify(last)}`,
      ];
    }
  };
  report(`${what}: ${path}`, (await Promise.all([reached(ours), reached(theirs)])).flat());
}

async function follow(
  { follow: what, list, watch, accept, during }: Follow,
  comparison: Comparison,
): Promise<void> {
  const { ours, theirs, report } = comparison;
  const servers = [ours, theirs];
  const revisions = await Promise.all(
    servers.map(async (server) => {
      const { body } = await server.send(bare(list));
      return (body as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
    }),
  );
  for (const request of during) await compareRequest(request, comparison);
  const [own, other] = await Promise.all(
    servers.map((server, index) =>
      server.send(bare(`${watch}&resourceVersion=${revisions[index] ?? ''}`, accept)),
    ),
  );
  const sorted = ({ body, ...rest }: Answer): Answer => ({ ...rest, body: sortedManagers(body) });
  report(`${what}: ${watch}`, differences(sorted(own as Answer), sorted(other as Answer)));
}

/**
 * Sorts managed fields. A server orders them by their times in whole seconds, so the same requests
 * give several orders.
 */
export function sortedManagers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedManagers);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => {
    const texts = (list: readonly object[]): unknown[] =>
      list.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    return [
      key,
      key === 'managedFields' && Array.isArray(item)
        ? texts(item as object[])
        : sortedManagers(item),
    ];
  });
  return Object.fromEntries(entries);
}

const keyOf = (entry: object): string =>
  JSON.stringify({ ...entry, time: '' }, Object.keys({ ...entry, time: '' }).sort());
