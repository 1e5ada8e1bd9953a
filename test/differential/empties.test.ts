// Tests for all kinds which empty lists and maps the server treats differently from missing ones,
// against the record of upstream's answers in `empties.tsv` (`npm run differential -- --kinds
// empties --record-empties FILE`).

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { messageOf } from '#api/testing/message-of.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { kindManifests } from '../e2e/kinds.ts';
import { difference, emptyPlaces, emptyShot, isRecorded, recordLine, type Way } from './empties.ts';
import { Ours } from './ours.ts';
import { samples } from './samples.ts';
import { creation, removal, servedKind, targetOf } from './shots.ts';

let server: Ours;
beforeAll(async () => {
  // The clock stands still, since two answers are compared.
  server = await Ours.start({ clock: new VirtualClock() });
});
afterAll(() => server.stop());

const recorded = readFileSync(new URL('empties.tsv', import.meta.url), 'utf8')
  .split('\n')
  .slice(0, -1);
const all = [...samples, ...kindManifests];

test.each([...new Set(all.map(({ kind }) => kind))])('%s', async (kind) => {
  const lines: string[] = [];
  for (const sample of all.filter((each) => each.kind === kind)) {
    const served = servedKind(server.kinds, sample);
    const message = messageOf(String(sample.manifest['apiVersion']), kind);
    if (served === undefined || message === undefined) continue;
    const target = targetOf(served, sample);
    for (const step of removal(target)) await server.send(step);
    await server.send(creation(target));
    const ways: readonly Way[] = target.mayUpdate ? ['create', 'update'] : ['create'];
    for (const place of emptyPlaces(message, sample.manifest)) {
      for (const way of ways) {
        if (!isRecorded(place, way)) continue;
        const without = await server.send(emptyShot(target, place, way, undefined));
        const outcome = difference(
          without,
          await server.send(emptyShot(target, place, way, place.empty)),
        );
        if (outcome !== undefined) lines.push(recordLine(target, place, way, outcome));
      }
    }
    for (const step of removal(target)) await server.send(step);
  }
  expect(lines).toEqual(recorded.filter((line) => line.startsWith(`${kind}\t`)));
});
