// Sends the requests of custom-object-cases.ts to both servers.

import { isDeepStrictEqual } from 'node:util';
import { type Answer, differences } from './compare.ts';
import { type CustomObjectCase, customObjectCases } from './custom-object-cases.ts';
import { discoveredGroup, publishedParts } from './custom-object-documents.ts';
import type { ReportLines } from './report.ts';
import type { Shot } from './shots.ts';

/** One of the two servers. */
export interface Server {
  send(shot: Shot): Promise<Answer>;
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const ATTEMPTS = 300;
const PAUSE_MS = 100;

/** Compares the answers to all requests. `only`: names of cases; default: all. */
export async function compareCustomObjects(
  ours: Server,
  theirs: Server,
  report: ReportLines,
  only?: readonly string[],
): Promise<void> {
  for (const each of customObjectCases.filter(
    ({ name }) => only === undefined || only.includes(name),
  )) {
    await Promise.all([define(ours, each), define(theirs, each)]);
    for (const request of each.requests) {
      const [our, their] = await Promise.all([ours.send(request), theirs.send(request)]);
      report(titleOf(each, request), differences(our, their));
    }
    await compareDocuments(ours, theirs, each, report);
    await Promise.all([undefine(ours, each), undefine(theirs, each)]);
  }
}

/** Compares discovery and OpenAPI. */
async function compareDocuments(
  ours: Server,
  theirs: Server,
  each: CustomObjectCase,
  report: ReportLines,
): Promise<void> {
  const { group, versions } = specOf(each);
  const documents: [path: string, part: (body: unknown) => unknown][] = [
    ['/apis', (body) => discoveredGroup(body, group)],
    ['/openapi/v2', (body) => publishedParts(body, group)],
    ...versions
      .filter(({ served }) => served)
      .map(({ name }): [string, (body: unknown) => unknown] => [
        `/openapi/v3/apis/${group}/${name}`,
        (body) => publishedParts(body, group),
      ]),
  ];
  for (const [path, part] of documents) {
    const wanted = { ...request('GET', path), ...(path === '/apis' && { accept: AGGREGATED }) };
    const answerOf = async (server: Server): Promise<Answer> => {
      const { code, body } = await server.send(wanted);
      return { code, body: part(body), warnings: [] };
    };
    // Upstream publishes v2 some seconds later.
    const [our, their] = await Promise.all([answerOf(ours), answerOf(theirs)]);
    report(`${each.name}: ${path}`, differences(our, their));
  }
}

function titleOf(
  { name }: CustomObjectCase,
  { method, path, type, body, accept = '' }: Shot,
): string {
  return `${name}: ${method} ${path} ${accept} ${body === '' ? '' : `${type} ${body.slice(0, 300)}`}`;
}

const request = (method: string, path: string, body = ''): Shot => ({
  method,
  path,
  type: 'application/json',
  body,
  changes: [],
});

interface Spec {
  readonly group: string;
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

function specOf({ definition }: CustomObjectCase): Spec {
  return definition['spec'] as Spec;
}

function pathOf({ definition }: CustomObjectCase): string {
  return `${DEFINITIONS}/${(definition['metadata'] as { name: string }).name}`;
}

export async function define(server: Server, each: CustomObjectCase): Promise<void> {
  await undefine(server, each);
  const made = await server.send(request('POST', DEFINITIONS, JSON.stringify(each.definition)));
  if (made.code !== 201) throw new Error(`${each.name}: ${JSON.stringify(made.body)}`);
  await until(async () => {
    const { body } = await server.send(request('GET', pathOf(each)));
    const { conditions } = (
      body as { status: { conditions: { type: string; status: string }[] | null } }
    ).status;
    const isEstablished = conditions?.some((condition) =>
      isDeepStrictEqual([condition.type, condition.status], ['Established', 'True']),
    );
    if (isEstablished !== true) return false;
    // Upstream lists it a moment later.
    const { group, versions } = specOf(each);
    const last = versions.findLast(({ served }) => served);
    return (await server.send(request('GET', `/apis/${group}/${last?.name ?? ''}`))).code === 200;
  });
}

export async function undefine(server: Server, each: CustomObjectCase): Promise<void> {
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
