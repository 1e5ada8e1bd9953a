// Compares admission webhooks: runs the cases of src/apiserver/admission/webhook/testing at both
// servers, which call the same webhook server.

import { CASES } from '#apiserver/admission/webhook/testing/cases.ts';
import {
  type CaseAnswer,
  CaseRunner,
  type Outcome,
} from '#apiserver/admission/webhook/testing/runner.ts';
import { startWebhookServer } from '#apiserver/webhooks/testing/webhook-server.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Answer } from './compare.ts';
import type { ReportLines } from './report.ts';
import type { Shot } from './shots.ts';

/** The other server's outcomes, by the names of the cases. */
export type RecordedOutcomes = Readonly<Record<string, readonly Outcome[]>>;

type Server = (shot: Shot) => Promise<Answer>;

/** Compares the cases. `only`: a part of the names of the cases to run. */
export async function compareWebhooks(
  ours: Server,
  theirs: Server,
  report: ReportLines,
  only = '',
): Promise<RecordedOutcomes> {
  const webhook = await startWebhookServer({
    handler: () => undefined,
    dnsNames: ['hook.default.svc'],
  });
  const runners = { ours: runnerOf('ours', ours), theirs: runnerOf('theirs', theirs) };
  webhook.handler = (request, response, socket) => {
    const runner = request.url.startsWith('/ours/') ? runners.ours : runners.theirs;
    runner.serve(request, response, socket);
  };
  const recorded: Record<string, readonly Outcome[]> = {};
  try {
    for (const each of CASES) {
      if (!each.name.includes(only)) continue;
      const [own, other] = await Promise.all([runners.ours.run(each), runners.theirs.run(each)]);
      if (each.ownWords !== undefined) continue;
      recorded[each.name] = other;
      const lines = own.flatMap((outcome, index) =>
        differencesOf(outcome, other[index]).map((line) => `request ${index} ${line}`),
      );
      report(`webhook: ${each.name}`, lines);
    }
  } finally {
    await webhook.stop();
  }
  return recorded;

  function runnerOf(side: string, server: Server): CaseRunner {
    return new CaseRunner({
      side,
      webhook,
      send: async ({ method, path, body, type = 'application/json' }): Promise<CaseAnswer> =>
        server({
          method,
          path,
          type,
          body: body === undefined ? '' : JSON.stringify(body),
          changes: [],
        }),
    });
  }
}

/** Returns the outcomes as lines of JSON: a case on each, with its name. */
export function recordText(recorded: RecordedOutcomes): string {
  return Object.entries(recorded)
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join('');
}

function differencesOf(ours: unknown, theirs: unknown, path = ''): string[] {
  if (deepEqual(ours, theirs)) return [];
  if (!isObject(ours) || !isObject(theirs))
    return [`${path}: ${shown(ours)}, reference ${shown(theirs)}`];
  const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  return [...keys].flatMap((key) => differencesOf(ours[key], theirs[key], `${path}.${key}`));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
