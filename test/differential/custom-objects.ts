// Sends the requests of custom-object-cases.ts to both servers.

import { isDeepStrictEqual } from 'node:util';
import { differences } from './compare.ts';
import type { Answer } from './compare.ts';
import { customObjectCases } from './custom-object-cases.ts';
import type { CustomObjectCase } from './custom-object-cases.ts';
import type { Shot } from './shots.ts';

/** One of the two servers. */
export interface Server {
  send(shot: Shot): Promise<Answer>;
}

type Report = (title: string, lines: readonly string[]) => void;

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const ATTEMPTS = 300;
const PAUSE_MS = 100;

/** `only`: names of cases; default: all. Returns how many requests were sent. */
export async function compareCustomObjects(
  ours: Server,
  theirs: Server,
  report: Report,
  only?: readonly string[],
): Promise<number> {
  let sent = 0;
  for (const each of customObjectCases.filter(({ name }) => only === undefined || only.includes(name))) {
    await Promise.all([define(ours, each), define(theirs, each)]);
    for (const request of each.requests) {
      sent++;
      const lines = differences(...(await Promise.all([ours.send(request), theirs.send(request)])));
      if (lines.length > 0) report(titleOf(each, request), lines);
    }
    await Promise.all([undefine(ours, each), undefine(theirs, each)]);
  }
  return sent;
}

function titleOf({ name }: CustomObjectCase, { method, path, type, body, accept = '' }: Shot): string {
  return `${name}: ${method} ${path} ${accept} ${body === '' ? '' : `${type} ${body.slice(0, 300)}`}`;
}

const request = (method: string, path: string, body = ''): Shot => ({
  method,
  path,
  type: 'application/json',
  body,
  changes: [],
});

function pathOf({ definition }: CustomObjectCase): string {
  return `${DEFINITIONS}/${(definition['metadata'] as { name: string }).name}`;
}

async function define(server: Server, each: CustomObjectCase): Promise<void> {
  await undefine(server, each);
  const made = await server.send(request('POST', DEFINITIONS, JSON.stringify(each.definition)));
  if (made.code !== 201) throw new Error(`${each.name}: ${JSON.stringify(made.body)}`);
  await until(async () => {
    const { body } = await server.send(request('GET', pathOf(each)));
    const { conditions } = (body as { status: { conditions: { type: string; status: string }[] | null } }).status;
    const isEstablished = conditions?.some((condition) =>
      isDeepStrictEqual([condition.type, condition.status], ['Established', 'True']),
    );
    if (isEstablished !== true) return false;
    // Upstream lists it a moment later.
    const { group, versions } = (each.definition as { spec: { group: string; versions: { name: string; served: boolean }[] } })
      .spec;
    const last = versions.findLast(({ served }) => served);
    return (await server.send(request('GET', `/apis/${group}/${last?.name ?? ''}`))).code === 200;
  });
}

async function undefine(server: Server, each: CustomObjectCase): Promise<void> {
  await server.send(request('DELETE', pathOf(each)));
  await until(async () => (await server.send(request('GET', pathOf(each)))).code === 404);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (await condition()) return;
    await new Promise((resolve) => {
      setTimeout(resolve, PAUSE_MS);
    });
  }
  throw new Error('waited in vain');
}
