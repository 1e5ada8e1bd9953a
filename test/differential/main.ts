// `npm run differential`: sends the same requests to two API servers, and reports the differences
// of their answers. The README beside this file describes the flags.

import { writeFileSync } from 'node:fs';
import { messageOf } from '#api/testing/message-of.ts';
import { randomCases } from '#api/machinery/codec/structural/testing/random.ts';
import { UserError } from '#cluster/user-error.ts';
import { fnv32a } from '#machinery/text/hash.ts';
import { systemClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { parseFlags } from '../../tools/flags.ts';
import { kindManifests } from '../e2e/kinds.ts';
import { differences, type Answer, withoutGeneratedName } from './compare.ts';
import { compareCalls } from './calls/run.ts';
import { compareConfigured } from './configured/index.ts';
import { compareConversions } from './custom-conversions.ts';
import { compareCustomObjects } from './custom-objects.ts';
import { answersOf, askUpstream, askUpstreamForRules } from './custom-resources.ts';
import { definitionSteps } from './definitions.ts';
import { DEFINITIONS, GROUP, MERGE, remove } from './extension-requests.ts';
import { type Explained, Explanations } from './explained.ts';
import { Ours } from './ours.ts';
import { Remote } from './remote.ts';
import { patchShots } from './patch-shots.ts';
import { Report } from './report.ts';
import { customObjectSteps } from './object-steps.ts';
import { difference, emptyPlaces, emptyShot, isRecorded, recordLine, WAYS } from './empties.ts';
import { requests } from './requests.ts';
import { samples } from './samples.ts';
import { compareSteps, sortedManagers } from './steps.ts';
import { versionRequests } from './versions.ts';
import { metricDifferences } from './metrics.ts';
import { startUpstream, type Upstream } from './upstream.ts';
import { compareWebhooks, recordText } from './webhooks.ts';
import { compareOpenApi } from './openapi.ts';
import { wireDifferences, wireShots, wireTitle } from './wire.ts';
import { creation, removal, servedKind, shots, targetOf, type Shot, type Target } from './shots.ts';

const usage = `usage: npm run differential -- (--upstream | --reference URL --token TOKEN) [flags]
  --upstream                      compare with upstream's kube-apiserver, which is built with Go and started
  --reference URL                 an API server to compare with, such as https://127.0.0.1:6443
  --token TOKEN                   a token of an administrator of that server
  --kinds A,B                     only these kinds, or parts: wire, openapi, requests, empties, versions, calls,
                                  configured, custom-resources, definitions, custom-objects, webhooks, rules
  --groups A,B                    only these groups of calls (calls/groups.ts) and configured
  --count N                       requests for each kind (default 200)
  --seed TEXT                     the same text gives the same requests (default differential)
  --case TEXT                     only cases of webhooks whose names have this text
  --verbose                       print the body of each request whose answers differ
  --record-empties FILE           write which empty values the other server distinguishes
  --record-custom-resources FILE  write the other server's answers of custom-resources
  --record-webhooks FILE          write the other server's outcomes of webhooks
  --record-rules FILE             write the other server's answers of rules
  --record-explained FILE         write each explained difference, with the reason, to narrow them
`;
const flags = parseFlags('differential', usage, {
  upstream: { type: 'boolean', default: false },
  reference: { type: 'string' },
  token: { type: 'string', default: '' },
  kinds: { type: 'string' },
  groups: { type: 'string' },
  count: { type: 'string', default: '200' },
  seed: { type: 'string', default: 'differential' },
  'record-empties': { type: 'string' },
  verbose: { type: 'boolean', default: false },
  'record-custom-resources': { type: 'string' },
  'record-webhooks': { type: 'string' },
  case: { type: 'string', default: '' },
  'record-rules': { type: 'string' },
  'record-explained': { type: 'string' },
});
if (!Number.isSafeInteger(Number(flags.count)) || Number(flags.count) < 0) {
  console.error('differential: --count: a whole number from 0 was expected');
  process.exit(2);
}
if ((flags.reference !== undefined) === flags.upstream) {
  console.error(
    'differential: either --upstream or --reference URL is needed, such as https://127.0.0.1:6443',
  );
  process.exit(2);
}
/** The values of `--kinds` that are not kinds. */
const PARTS: readonly string[] = [
  'wire',
  'openapi',
  'requests',
  'empties',
  'versions',
  'calls',
  'configured',
  'custom-resources',
  'definitions',
  'custom-objects',
  'webhooks',
  'rules',
];
/** A random schema has ten objects, and takes as long as ten requests of other kinds. */
const CASES_PER_COUNT = 10;
const only = flags.kinds?.split(',');
const isChosen = (part: string): boolean => only === undefined || only.includes(part);
const server = await Ours.start();
const ours = await server.listen();
const upstream = flags.upstream ? await startOrExit() : undefined;
const reference = new Remote(
  upstream?.url ?? flags.reference ?? '',
  upstream?.token ?? flags.token,
);
const explanations = Explanations.read();
const report = new Report(explanations, (line) => console.log(line));

try {
  if (isChosen('custom-resources')) {
    const recorded = await askUpstream(reference, report.record);
    const count = Math.ceil(Number(flags.count) / CASES_PER_COUNT);
    await answersOf(reference, randomCases(fnv32a(flags.seed), count), report.record);
    const file = flags['record-custom-resources'];
    if (file !== undefined) writeFileSync(file, `${JSON.stringify(recorded, undefined, 1)}\n`);
  }
  // These need upstream's program: both servers are started with flags of their own.
  if (isChosen('configured') && flags.upstream)
    await compareConfigured(report.record, console.log, flags.groups?.split(','));
  if (isChosen('custom-objects')) {
    await compareCustomObjects(ours, reference, report.record);
    await compareConversions(ours, reference, report.record);
  }
  if (isChosen('rules')) {
    const answers = await askUpstreamForRules(reference, report.record);
    const file = flags['record-rules'];
    if (file !== undefined) writeFileSync(file, `${JSON.stringify(answers, undefined, 1)}\n`);
  }
  if (isChosen('webhooks')) {
    const recorded = await compareWebhooks(
      (shot) => ours.send(shot),
      (shot) => reference.send(shot),
      report.record,
      flags.case,
    );
    const file = flags['record-webhooks'];
    if (file !== undefined) writeFileSync(file, recordText(recorded));
  }
  if (isChosen('wire')) {
    for (const shot of wireShots) {
      const lines = wireDifferences(shot, await ours.wire(shot), await reference.wire(shot));
      report.record(wireTitle(shot), lines);
    }
    const metrics = metricDifferences(
      (await ours.wire({ path: '/metrics' })).text,
      (await reference.wire({ path: '/metrics' })).text,
    );
    report.record('/metrics', metrics);
  }
  if (isChosen('openapi')) await compareOpenApi(ours, reference, report.record);
  if (isChosen('requests')) for (const shot of requests) await compareAnswers(shot);
  if (isChosen('versions')) for (const shot of versionRequests) await compareAnswers(shot);
  if (isChosen('calls'))
    await compareCalls(ours, reference, report.record, server.kinds, flags.groups?.split(','));
  for (const [part, steps] of [
    ['definitions', definitionSteps],
    ['custom-objects', customObjectSteps],
  ] as const) {
    if (!isChosen(part)) continue;
    await removeDefinitions();
    await compareSteps(steps, { ours, theirs: reference, report: report.record });
    await removeDefinitions();
  }
  const onlyEmpties = only?.includes('empties') === true;
  const chosen = only?.filter((name) => !PARTS.includes(name)) ?? [];
  const allKinds = only === undefined || (onlyEmpties && chosen.length === 0);
  const toldApart: string[] = [];
  for (const sample of [...samples, ...kindManifests]) {
    const served = servedKind(server.kinds, sample);
    if (served === undefined || !(allKinds || chosen.includes(sample.kind))) continue;
    const target = targetOf(served, sample);
    await removeFrom(target);
    await compareAnswers(creation(target));
    const random = new SeededRandom(`${flags.seed} ${sample.kind}`);
    for (const shot of onlyEmpties ? [] : shots(target, Number(flags.count), random))
      await compareAnswers(shot);
    const patching = new SeededRandom(`${flags.seed} ${sample.kind} patches`);
    for (const shot of onlyEmpties ? [] : patchShots(target, Number(flags.count) / 2, patching))
      await compareAnswers(shot);
    if (only === undefined || onlyEmpties) toldApart.push(...(await compareEmpties(target)));
    await removeFrom(target);
  }
  if (flags['record-empties'] !== undefined)
    writeFileSync(flags['record-empties'], toldApart.map((line) => `${line}\n`).join(''));
} finally {
  reference.close();
  ours.close();
  await server.stop();
  await upstream?.stop();
}
const unused = only === undefined ? explanations.unused : [];
for (const { request, difference } of unused)
  console.log(`explained, but not seen: ${request.source}: ${difference.source}`);
if (flags['record-explained'] !== undefined)
  writeFileSync(flags['record-explained'], explanations.explained.map(explainedLine).join(''));
console.log(report.summary);
process.exitCode = report.different + unused.length > 0 ? 1 : 0;

function explainedLine({ title, line, explanations: reasons }: Explained): string {
  const cells = [reasons.map(({ reason }) => reason).join(' '), title, line];
  return `${cells.map((cell) => cell.replaceAll(/[\t\n]/g, ' ')).join('\t')}\n`;
}

/** Starts upstream's server. Ends the process if that fails. */
async function startOrExit(): Promise<Upstream> {
  try {
    return await startUpstream((text) => console.error(text));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(`differential: ${error.message}`);
    process.exit(1);
  }
}

/**
 * Returns the places where the reference answers differently to an empty and to a missing value,
 * with the difference.
 */
async function compareEmpties(target: Target): Promise<string[]> {
  const message = messageOf(String(target.manifest['apiVersion']), target.kind);
  if (message === undefined) throw new Error(`no schema for ${target.kind}`);
  const found: string[] = [];
  for (const place of emptyPlaces(message, target.manifest)) {
    for (const way of target.mayUpdate ? WAYS : (['create'] as const)) {
      const shot = emptyShot(target, place, way, place.empty);
      const theirs = await compareAnswers(shot);
      if (flags['record-empties'] === undefined || !isRecorded(place, way)) continue;
      const without = await reference.send(emptyShot(target, place, way, undefined));
      const outcome = difference(without, theirs);
      if (outcome !== undefined) found.push(recordLine(target, place, way, outcome));
    }
  }
  return found;
}

async function removeFrom(target: Target): Promise<void> {
  for (const step of removal(target)) await Promise.all([reference.send(step), ours.send(step)]);
}

/**
 * Removes definitions of an interrupted run from the reference server, and waits until they are
 * gone.
 */
async function removeDefinitions(): Promise<void> {
  const held = `/apis/${GROUP}/v2/namespaces/default/anchors/held`;
  await reference.send({
    ...remove(held),
    method: 'PATCH',
    type: MERGE,
    body: '{"metadata":{"finalizers":null}}',
  });
  for (const plural of ['anchors', 'hooks', 'chains', 'vessels', 'fleets']) {
    const path = `${DEFINITIONS}/${plural}.${GROUP}`;
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 100, timeoutMs: 10_000 },
      async () => {
        return (await reference.send(remove(path))).code === 404;
      },
    );
  }
}

/** Sends the request to both servers, and reports. Returns the answer of the reference. */
async function compareAnswers(shot: Shot): Promise<Answer> {
  const [own, theirs] = await Promise.all([ours.send(shot), reference.send(shot)]);
  const title = `${shot.method} ${shot.path}: ${shot.changes.join('; ')}`;
  const sorted = (answer: Answer): Answer => {
    const named = withoutGeneratedName(answer, shot.body);
    return { ...named, body: sortedManagers(named.body) };
  };
  const lines = differences(sorted(own), sorted(theirs));
  report.record(title, lines, flags.verbose ? shot.body : undefined);
  return theirs;
}
