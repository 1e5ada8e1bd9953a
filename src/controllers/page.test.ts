// Tests docs/adding-a-controller.md: the controller is extracted from the page and run.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { configMaps, namespaces } from '#api/groups/core/v1/index.ts';
import type { Controller, ControllerConfig } from './controller.ts';
import { disturb } from './testing/robustness.ts';

const CONTROLLERS = dirname(fileURLToPath(import.meta.url));
const PAGE = readFileSync(join(CONTROLLERS, '../../docs/adding-a-controller.md'), 'utf8');

interface Page {
  readonly TeamController: new (config: ControllerConfig) => Controller;
}

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-controller-page-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function codeOfPage(): Promise<Page> {
  const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(PAGE) ?? [];
  const file = join(dir, 'team-controller.ts');
  writeFileSync(
    file,
    code
      .replaceAll("from '#", `from '${dirname(CONTROLLERS)}/`)
      .replaceAll("from '../", `from '${CONTROLLERS}/`),
  );
  return (await import(file)) as Page;
}

test('the controller of the page does what the page says, after every fault', async () => {
  const { TeamController } = await codeOfPage();
  const label = (team: string): object => ({
    metadata: { labels: { 'example.com/team': team } },
  });
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new TeamController(config),
    steps: [
      async ({ client }) => {
        await client
          .resource(namespaces)
          .create({ metadata: { name: 'shop', labels: { 'example.com/team': 'red' } } });
        await client.resource(namespaces).create({ metadata: { name: 'plain' } });
      },
      async ({ client }) => {
        await client
          .resource(namespaces)
          .patch('shop', 'application/merge-patch+json', label('blue'));
      },
      async ({ client }) => {
        await client.resource(configMaps).namespace('shop').delete('team');
      },
    ],
    outcome: [configMaps],
    rest: '1m',
  });
  expect(writes).toBe(3);
  expect(outcome).toMatchObject([
    { metadata: { name: 'team', namespace: 'shop' }, data: { team: 'blue' } },
  ]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});

test('the methods of the builder that the page lists exist', async () => {
  const { ControllerBuilder } = await import('./builder.ts');
  const listed = [...PAGE.matchAll(/^\|[^|]*\| `(\w+)\(/gm)].map(([, name]) => name);
  expect(listed).toEqual([
    'for',
    'owns',
    'watches',
    'informerFor',
    'recorder',
    'addQueue',
    'alongside',
  ]);
  expect(Object.getOwnPropertyNames(ControllerBuilder.prototype)).toEqual(
    expect.arrayContaining(listed),
  );
});
