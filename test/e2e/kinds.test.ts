// Every kind through kubectl, the oldest and the newest installed: create, get in all forms, apply
// on both sides, diff, patch in all ways, replace, explain, delete. All objects, one of each kind,
// are in one file, so that a failure names the kind and the test stays quick.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
  testedKubectls,
} from './harness.ts';
import { kindManifests } from './kinds.ts';

const versions = testedKubectls();
const count = kindManifests.length;
/** Removes the warnings about deprecated kinds. */
const withoutWarnings = (text: string): string => text.replace(/^Warning: .*\n/gm, '');
const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

describe
  .skipIf(missingKubectl !== undefined)
  .each(versions.length > 0 ? versions : [{ version: 'none', path: '' }])(
  named('every kind with kubectl $version', missingKubectl),
  ({ path }) => {
    let dir: ReturnType<typeof temporaryDir>;
    let cluster: RunningCluster;
    let kubectl: Kubectl;
    let file: string;
    const write = (items: readonly object[], name = 'all.json'): string => {
      const target = join(dir.path, name);
      writeFileSync(target, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
      return target;
    };
    beforeAll(async () => {
      dir = temporaryDir();
      cluster = await coxUp(['--runtime', 'simulated', '--nodes', '1', '--store', 'memory'], {
        dataDir: dir.path,
      });
      kubectl = cluster.kubectl(path);
      file = write(kindManifests.map(({ manifest }) => manifest));
    });
    afterAll(async () => {
      await cluster?.stop();
      dir.remove();
    });

    const revisions = async (): Promise<ReadonlyMap<string, string>> => {
      const template = '{range .items[*]}{.kind}={.metadata.resourceVersion},{end}';
      const text = await kubectl.run(`get -f ${file} -o jsonpath='${template}'`);
      return new Map(text.split(',').map((pair) => pair.split('=') as [string, string]));
    };

    test('no kind is left out', async () => {
      const listed = lines(
        await kubectl.run('api-resources --verbs=create,get,delete --no-headers -o name'),
      ).map((name) => name.split('.')[0]);
      const tried = kindManifests.map(({ resource }) => resource.split('.')[0]);
      expect([...new Set(listed)].toSorted()).toEqual([...new Set(tried)].toSorted());
    });

    test('create', async () => {
      const created = lines(await kubectl.run(`create -f ${file}`));
      expect(created.filter((line) => !line.endsWith(' created'))).toEqual([]);
      expect(created).toHaveLength(count);
    });

    test('get', async () => {
      for (const output of [
        '',
        '-o wide',
        '--show-labels',
        '-o name',
        '-o custom-columns=NAME:.metadata.name --no-headers',
      ]) {
        expect({
          output,
          lines: lines(await kubectl.run(`get -f ${file} ${output}`)).length >= count,
        }).toEqual({
          output,
          lines: true,
        });
      }
      const names = await kubectl.run(`get -f ${file} -o jsonpath='{.items[*].kind}'`);
      expect(names.split(' ').toSorted()).toEqual(kindManifests.map(({ kind }) => kind).toSorted());
      expect(await kubectl.run(`get -f ${file} -o go-template='{{len .items}}'`)).toBe(
        String(count),
      );
      const json = JSON.parse(await kubectl.run(`get -f ${file} -o json`)) as { items: object[] };
      expect(json.items).toHaveLength(count);
      expect((await kubectl.run(`get -f ${file} -o yaml`)).match(/^ {2}kind: /gm)).toHaveLength(
        count,
      );
    });

    test('apply by the client, and nothing differs then', async () => {
      const applied = lines(await kubectl.run(`apply -f ${file}`));
      expect(applied.filter((line) => !/ (configured|unchanged)$/.test(line))).toEqual([]);
      expect(applied).toHaveLength(count);
      const before = await revisions();
      // kubectl sends lists that it replaces as a whole again each time; the object stays the same.
      const again = lines(await kubectl.run(`apply -f ${file}`)).filter(
        (line) => !line.endsWith(' unchanged'),
      );
      expect(again.filter((line) => !line.endsWith(' configured'))).toEqual([]);
      const after = await revisions();
      const sentAgain = kindManifests.filter(({ kind }) =>
        again.some((line) => /^\w+/.exec(line)?.[0] === kind.toLowerCase()),
      );
      const changed = sentAgain.filter(({ kind }) => after.get(kind) !== before.get(kind));
      expect(changed.map(({ kind }) => kind)).toEqual([]);
      const { stdout, stderr, status } = await kubectl.try(`diff -f ${file}`);
      expect({ stdout, stderr: withoutWarnings(stderr), status }).toEqual({
        stdout: '',
        stderr: '',
        status: 0,
      });
    });

    test('diff shows what an apply would change, on either side', async () => {
      const changed = write(
        kindManifests.map(({ manifest }) => ({
          ...manifest,
          metadata: { ...(manifest['metadata'] as object), labels: { changed: 'yes' } },
        })),
        'changed.json',
      );
      for (const side of ['', '--server-side --force-conflicts']) {
        const { stdout, stderr, status } = await kubectl.try(`diff ${side} -f ${changed}`);
        expect({ side, stderr: withoutWarnings(stderr), status }).toEqual({
          side,
          stderr: '',
          status: 1,
        });
        expect({ side, changes: stdout.match(/^> +changed: "?yes"?$/gm)?.length }).toEqual({
          side,
          changes: count,
        });
      }
    });

    test('apply by the server', async () => {
      const applied = lines(await kubectl.run(`apply --server-side --force-conflicts -f ${file}`));
      expect(applied.filter((line) => !line.endsWith(' serverside-applied'))).toEqual([]);
      expect(applied).toHaveLength(count);
    });

    test('patch', async () => {
      const label = (value: string): string =>
        JSON.stringify({ metadata: { labels: { patched: value } } });
      const operation = JSON.stringify([
        { op: 'add', path: '/metadata/labels/patched', value: 'json' },
      ]);
      for (const [type, patch] of [
        ['strategic', label('strategic')],
        ['merge', label('merge')],
        ['json', operation],
      ]) {
        const patched = lines(await kubectl.run(`patch -f ${file} --type ${type} -p '${patch}'`));
        expect({ type, others: patched.filter((line) => !line.endsWith(' patched')) }).toEqual({
          type,
          others: [],
        });
        const found = await kubectl.run(
          `get -f ${file} -o jsonpath='{.items[*].metadata.labels.patched}'`,
        );
        expect(found.split(' ')).toEqual(Array.from({ length: count }, () => type));
      }
    });

    test('replace', async () => {
      const { items } = JSON.parse(await kubectl.run(`get -f ${file} -o json`)) as {
        items: { metadata: { resourceVersion?: string } }[];
      };
      for (const { metadata } of items) delete metadata.resourceVersion;
      const replaced = lines(await kubectl.run(`replace -f ${write(items, 'live.json')}`));
      expect(replaced.filter((line) => !line.endsWith(' replaced'))).toEqual([]);
      expect(replaced).toHaveLength(count);
    });

    test('explain', async () => {
      for (const { resource, kind, manifest } of kindManifests) {
        const text = await kubectl.run(
          `explain ${resource} --recursive --api-version=${String(manifest['apiVersion'])}`,
        );
        expect(text).toMatch(new RegExp(`^KIND: +${kind}$`, 'm'));
        expect(text).toMatch(/resourceVersion\s/);
      }
    });

    test('delete', async () => {
      const deleted = lines(await kubectl.run(`delete --wait=false -f ${file}`));
      expect(
        deleted.filter((line) => !line.endsWith(' deleted') && !/ deleted from /.test(line)),
      ).toEqual([]);
      await eventually(
        'all to be gone',
        async () => (await kubectl.run(`get -f ${file} --ignore-not-found -o name`)) === '',
      );
    });
  },
);
