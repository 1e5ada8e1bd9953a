// The commands and listings of a back end, with a recorder instead of nft.

import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { FakeNft } from '#machinery/net/nft/fake-nft.ts';
import { decideService } from '../decide.ts';
import type { RulesUpdate } from '../model.ts';
import { NODE, service, slice } from '../testing/objects.ts';
import { NftablesBackend } from './nftables-backend.ts';

function record(relistedElements: number): {
  backend: NftablesBackend;
  runs: string[];
  lists: () => number;
  serve: (ips: readonly string[]) => void;
} {
  const nft = new FakeNft();
  let nodePortIPs: readonly string[] = ['192.168.0.1'];
  const backend = new NftablesBackend({
    nft,
    families: ['IPv4'],
    settings: () => ({
      table: 'cox',
      nodePortIPs,
      clusterCidrs: [],
      serviceCidrs: [],
      masqueradeAll: false,
      masqueradeBit: 14,
      blindBridge: undefined,
    }),
    flows: undefined,
    clock: new VirtualClock(),
    logger: createLogger({ destination: { write: () => undefined } }),
    relistedElements,
  });
  return {
    backend,
    runs: nft.runs,
    lists: () => nft.lists.length,
    serve: (ips) => void (nodePortIPs = ips),
  };
}

const update = (complete: boolean, count = 1): RulesUpdate => ({
  complete,
  changes: new Map(
    Array.from({ length: count }, (_, index) => {
      const name = `s${index}`;
      const given = service({ clusterIP: `10.96.${index >> 8}.${index & 255}` }, name);
      return [
        `default/${name}`,
        decideService(given, [slice(['10.0.0.1', '10.0.0.2'], { of: name })], NODE),
      ] as const;
    }),
  ),
});

test('a complete update lists the table again; for a large table it only applies the settings', async () => {
  const small = record(100);
  await small.backend.sync(update(true));
  await small.backend.sync(update(true));
  expect(small.lists()).toBe(2);
  const large = record(1);
  await large.backend.sync(update(true));
  large.runs.length = 0;
  large.serve(['192.168.0.9']);
  await large.backend.sync(update(true));
  expect(large.lists()).toBe(1);
  expect(large.runs.join('')).toContain(
    'ip daddr { 192.168.0.9 } meta l4proto . th dport vmap @service-nodeports',
  );
  expect(large.runs.join('')).not.toContain('element');
});

test('many services need several transactions of bounded size', async () => {
  const { backend, runs } = record(100);
  await backend.sync(update(true, 5000));
  expect(runs.length).toBeGreaterThan(3);
  expect(Math.max(...runs.map((commands) => commands.length))).toBeLessThan(2 * 1024 * 1024);
});

test('the first update is complete', async () => {
  await expect(record(100).backend.sync(update(false))).rejects.toThrow(
    'the first update of a back end is a complete one',
  );
});
