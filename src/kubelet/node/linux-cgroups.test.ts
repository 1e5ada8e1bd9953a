import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { linuxCgroups } from './linux-cgroups.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'cgroups-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function make(path: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(root, path), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, path, name), text);
}

const ID = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);

test('one hierarchy: containers are found by their ID, also in scopes of systemd', () => {
  make('', { 'cgroup.controllers': 'cpu memory' });
  make(`kubepods/burstable/podX/${ID}`, { 'memory.current': '5\n' });
  make(`kubepods.slice/x.slice/cri-containerd-${OTHER}.scope`, { 'pids.current': '3' });
  const cgroups = linuxCgroups(root)!;
  const found = cgroups.find(new Set([ID, OTHER, 'c']));
  expect([...found]).toEqual([
    [OTHER, `/kubepods.slice/x.slice/cri-containerd-${OTHER}.scope`],
    [ID, `/kubepods/burstable/podX/${ID}`],
  ]);
  expect(cgroups.read(found.get(ID)!)).toMatchObject({ memory: { usage: 5, workingSet: 5 } });
  expect(cgroups.read(found.get(OTHER)!)).toMatchObject({ pids: 3 });
  expect(cgroups.read('/none')).toBeUndefined();
});

test('separate hierarchies: the files of all controllers belong together', () => {
  make(`memory/k8s.io/${ID}`, { 'memory.usage_in_bytes': '7\n' });
  make(`cpuacct/k8s.io/${ID}`, { 'cpuacct.usage': '9\n' });
  const cgroups = linuxCgroups(root)!;
  expect([...cgroups.find(new Set([ID]))]).toEqual([[ID, `/k8s.io/${ID}`]]);
  expect(cgroups.read(`/k8s.io/${ID}`)).toMatchObject({
    cpu: { usageNanoseconds: 9 },
    memory: { usage: 7 },
  });
});

test('a system without cgroups has none', () => {
  expect(linuxCgroups(root)).toBeUndefined();
});
