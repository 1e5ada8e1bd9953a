// Tests docs/writing-a-scheduler-plugin.md: its code is extracted and run, and its configuration is
// parsed.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { parseYaml } from '#api/machinery/codec/index.ts';
import { startTestCluster } from './testing/cluster.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const PAGE = readFileSync(join(HERE, '../../docs/writing-a-scheduler-plugin.md'), 'utf8');

function block(language: string): string {
  const found = [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, code]) => code ?? '',
  );
  expect(found, `blocks in ${language}`).toHaveLength(1);
  return found[0] ?? '';
}

/** Returns the code with imports of the sources instead of the package. */
const fromSources = (code: string): string =>
  code
    .replace("from 'coxswain'", `from '${join(HERE, '../exports/index.ts')}'`)
    .replace("from 'coxswain/scheduler'", `from '${join(HERE, '../exports/scheduler.ts')}'`)
    .replace(
      "from 'coxswain/api/core/v1'",
      `from '${join(HERE, '../api/groups/core/v1/index.ts')}'`,
    );

describe('the page on plugins', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'coxswain-plugin-page-'));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(dir, { recursive: true, force: true });
  });

  test('has code that runs and does what the page says', async () => {
    const said: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line: string) => said.push(line));
    const file = join(dir, 'tenants.ts');
    writeFileSync(file, fromSources(block('ts')));
    await import(file);
    expect(said).toEqual(['blue/web runs on node-2', 'default/web runs on node-1']);
    for (const line of said) expect(PAGE).toContain(`\`${line}\``);
  });

  test('has a configuration with which nodes take turns', async () => {
    const cluster = await startTestCluster();
    for (const name of ['n1', 'n2', 'n3']) await cluster.addNode(name);
    cluster.startScheduler({ configuration: parseYaml(block('yaml')) });
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) {
      await cluster.addPod(name, { cpu: '100m' }, { schedulerName: 'in-turn' });
      await cluster.untilBound(name);
    }
    expect(await Promise.all(names.map((name) => cluster.nodeOf(name)))).toEqual([
      'n1',
      'n2',
      'n3',
      'n1',
      'n2',
      'n3',
    ]);
    await cluster.stop();
  });
});
