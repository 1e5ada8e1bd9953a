import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { progressLine } from './terminal.ts';

function streamOf(isTTY: boolean): {
  written: string[];
  stream: Parameters<typeof progressLine>[2];
} {
  const written: string[] = [];
  const stream = { isTTY, fd: 1, write: (text: string) => written.push(text) > 0 };
  return { written, stream: stream as unknown as Parameters<typeof progressLine>[2] };
}

describe('progressLine', () => {
  test('overwrites one line on a terminal, and clears it', () => {
    const { written, stream } = streamOf(true);
    const line = progressLine(false, new VirtualClock(), stream);
    line.show('preparing the store');
    line.show('starting nodes', '1 of 3');
    line.show('starting nodes', '2 of 3');
    line.show('starting nodes', '2 of 3');
    line.clear();
    // Without what clears and colours.
    const shown = written.map((text) => stripVTControlCharacters(text));
    expect(shown).toEqual([
      '\rpreparing the store …',
      '\rstarting nodes: 1 of 3 …',
      '\rstarting nodes: 2 of 3 …',
      '\r',
    ]);
  });

  test('writes a line for each step elsewhere, and for a step that goes on every five seconds', async () => {
    const { written, stream } = streamOf(false);
    const clock = new VirtualClock();
    const line = progressLine(false, clock, stream);
    line.show('preparing the store');
    for (let i = 0; i <= 120; i++) {
      line.show('starting nodes', `${i} of 120`);
      await clock.advance(100);
    }
    line.show('waiting for nodes to be ready', '100 of 120');
    await clock.advance(60_000);
    line.show('waiting for nodes to be ready', '100 of 120');
    line.clear();
    expect(written).toEqual([
      'preparing the store\n',
      'starting nodes: 0 of 120\n',
      'starting nodes: 50 of 120\n',
      'starting nodes: 100 of 120\n',
      'waiting for nodes to be ready: 100 of 120\n',
    ]);
  });

  test('writes nothing when it is to be quiet', () => {
    const { written, stream } = streamOf(true);
    const line = progressLine(true, new VirtualClock(), stream);
    line.show('starting nodes', '1 of 3');
    line.clear();
    expect(written).toEqual([]);
  });
});
