// Sends the calls to both servers, and compares.

import type { Kind } from '#apiserver/catalog/kind.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import type { ReportLines } from '../report.ts';
import type { WireAnswer } from '../wire.ts';
import { type Call, callDifferences, type CallServer, callTitle, Values } from './call.ts';
import { groupsOf } from './groups.ts';

const UNTIL = { clock: systemClock, intervalMs: 100, timeoutMs: 30_000 };

/** Compares the answers to all calls. `kinds`: those that are served. `only`: names of groups. Default: all. */
export async function compareCalls(
  ours: CallServer,
  theirs: CallServer,
  report: ReportLines,
  kinds: readonly Kind[],
  only?: readonly string[],
): Promise<void> {
  await compareGroups(groupsOf(kinds), ours, theirs, report, only);
}

/** Compares the answers to the calls of groups. `only`: names of groups. Default: all. */
export async function compareGroups(
  groups: Readonly<Record<string, readonly Call[]>>,
  ours: CallServer,
  theirs: CallServer,
  report: ReportLines,
  only?: readonly string[],
): Promise<void> {
  for (const [name, calls] of Object.entries(groups)) {
    if (only !== undefined && !only.includes(name)) continue;
    const sides = [ours, theirs].map((server) => ({ server, values: new Values() }));
    for (const call of calls) {
      const [own, other] = await Promise.all(
        sides.map(async ({ server, values }) => {
          const answer = await answerTo(server, values.into(call));
          values.keep(answer.text);
          return answer;
        }),
      );
      report(`${name}: ${callTitle(call)}`, [
        ...lateness('ours', call, own!),
        ...lateness('reference', call, other!),
        ...callDifferences(call, own!, other!),
      ]);
    }
  }
}

/** Returns a line if a server has not given the answer that was awaited. */
function lateness(whose: string, call: Call, answer: WireAnswer): readonly string[] {
  if (isAwaited(call, answer)) return [];
  const awaited = call.untilUnwarned === true ? 'no warning' : String(call.untilCode);
  return [`awaited ${awaited}, ${whose} still answers ${answer.code}`];
}

function isAwaited({ untilCode, untilUnwarned }: Call, { code, headers }: WireAnswer): boolean {
  if (untilUnwarned === true && headers['warning'] !== undefined) return false;
  return untilCode === undefined || (untilCode === 'error' ? code >= 400 : code === untilCode);
}

/** A connection that is closed without an answer, as by a panic, has the status code 0. */
async function answerTo(server: CallServer, call: Call): Promise<WireAnswer> {
  let last: WireAnswer = { code: 0, headers: {}, text: '' };
  try {
    await wait.pollImmediately(UNTIL, async () => {
      last = await server.wire(call);
      return isAwaited(call, last);
    });
  } catch (error) {
    const isReset = (error as NodeJS.ErrnoException).code === 'ECONNRESET';
    if (!isReset && !(error instanceof wait.WaitTimeoutError)) throw error;
  }
  return last;
}
