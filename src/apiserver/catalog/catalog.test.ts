import { describe, expect, test } from 'vitest';

import type { Rest } from '../registry/rest.ts';
import { widgetType } from '../testing/widgets.ts';
import { Catalog, type CatalogChange } from './catalog.ts';
import type { Kind, Visibility } from './kind.ts';

interface Options {
  readonly group?: string;
  readonly version?: string;
  readonly rest?: Rest;
  readonly visibility?: Visibility;
}

const kindOf = (
  resource: string,
  { group = 'example.com', version = 'v1', rest = {}, ...more }: Options = {},
): Kind => ({
  type: widgetType(version, group, resource),
  rest,
  ...more,
});
const names = (kinds: Iterable<Kind>): string[] =>
  [...kinds].map(({ type }) => `${type.resource}.${type.version}.${type.group}`).toSorted();

describe('a snapshot', () => {
  test('finds kinds by resource and by kind', () => {
    const catalog = new Catalog();
    const widgets = kindOf('widgets');
    const gadgets = kindOf('gadgets', { group: '' });
    catalog.install([widgets, gadgets]);
    const snapshot = catalog.snapshot();
    expect(snapshot.get('example.com', 'v1', 'widgets')).toBe(widgets);
    expect(snapshot.get('', 'v1', 'gadgets')).toBe(gadgets);
    expect(snapshot.getKind({ group: 'example.com', version: 'v1', kind: 'Widget' })).toBe(widgets);
    for (const [group, version, resource] of [
      ['example.com', 'v2', 'widgets'],
      ['', 'v1', 'widgets'],
      ['example.com', 'v1', 'gadgets'],
      ['other', 'v1', 'x'],
    ] as const) {
      expect(snapshot.get(group, version, resource)).toBeUndefined();
    }
    expect(snapshot.size).toBe(2);
    expect(names(snapshot)).toEqual(['gadgets.v1.', 'widgets.v1.example.com']);
  });

  test('has the preferred version of a resource first, in any order of installation', () => {
    const catalog = new Catalog();
    for (const version of ['v1beta1', 'v2', 'v1alpha1', 'v1'])
      catalog.install([kindOf('widgets', { version })]);
    const wanted = ['v2', 'v1', 'v1beta1', 'v1alpha1'];
    const snapshot = catalog.snapshot();
    expect(snapshot.versionsOf('example.com', 'widgets').map(({ type }) => type.version)).toEqual(
      wanted,
    );
    expect(snapshot.group('example.com')?.versions.map(({ version }) => version)).toEqual(wanted);
  });

  test('finds the version in which a resource is stored', () => {
    const catalog = new Catalog();
    const stored = kindOf('widgets', { version: 'v1beta1' });
    const newer = {
      ...kindOf('widgets', { version: 'v1' }),
      storedKind: { group: 'example.com', version: 'v1beta1', kind: 'Widget' },
    };
    const installed = [newer, stored].map((kind) => catalog.install([kind]));
    expect(catalog.snapshot().stored('example.com', 'widgets')).toBe(stored);
    installed[1]?.uninstall();
    expect(catalog.snapshot().stored('example.com', 'widgets')).toBe(newer);
  });

  test('orders groups like discovery: those of Kubernetes first, the others by name', () => {
    const catalog = new Catalog();
    for (const group of ['b.example.com', 'batch', 'a.example.com', 'apps', ''])
      catalog.install([kindOf('widgets', { group })]);
    expect(catalog.snapshot().groups.map(({ name }) => name)).toEqual([
      '',
      'apps',
      'batch',
      'a.example.com',
      'b.example.com',
    ]);
  });

  test('publishes neither unlisted nor internal kinds', () => {
    const catalog = new Catalog();
    catalog.install([
      kindOf('listed', { group: 'a' }),
      kindOf('unlisted', { group: 'a', visibility: 'unlisted' }),
      kindOf('unlisted', { group: 'b', visibility: 'unlisted' }),
      kindOf('internal', { group: 'c', visibility: 'internal' }),
    ]);
    const snapshot = catalog.snapshot();
    expect(names(snapshot.publishedKinds())).toEqual(['listed.v1.a']);
    expect(snapshot.published.map(({ name }) => name)).toEqual(['a']);
    expect(['a', 'b', 'c', 'd'].map((group) => snapshot.group(group)?.served)).toEqual([
      true,
      true,
      false,
      undefined,
    ]);
    expect(snapshot.get('c', 'v1', 'internal')).toBeDefined();
  });

  test('does not change when kinds are installed or removed, and shares unchanged parts with the next one', () => {
    const catalog = new Catalog();
    catalog.install([kindOf('widgets'), kindOf('widgets', { group: 'other' })]);
    const before = catalog.snapshot();
    const added = catalog.install([kindOf('gadgets')]);
    const between = catalog.snapshot();
    added.uninstall();
    const after = catalog.snapshot();
    expect([before, between, after].map(({ size }) => size)).toEqual([2, 3, 2]);
    expect(names(before)).toEqual(names(after));
    expect(between.group('other')).toBe(before.group('other'));
    expect(between.group('example.com')).not.toBe(before.group('example.com'));
    expect(between.version).toBeGreaterThan(before.version);
    expect(after.version).toBeGreaterThan(between.version);
  });
});

describe('install', () => {
  test('of an installed resource is an error that names it, and changes nothing', () => {
    const catalog = new Catalog();
    catalog.install([kindOf('widgets')]);
    const before = catalog.snapshot();
    expect(() => catalog.install([kindOf('gadgets'), kindOf('widgets')])).toThrow(
      'resource widgets is installed twice in example.com/v1',
    );
    const pods = kindOf('pods', { group: '' });
    expect(() => catalog.install([pods, pods])).toThrow('resource pods is installed twice in v1');
    expect(catalog.snapshot()).toBe(before);
  });

  test('and uninstall notify listeners once for all kinds, until they unsubscribe', () => {
    const catalog = new Catalog();
    const changes: CatalogChange[] = [];
    const unsubscribe = catalog.onChange((change) => changes.push(change));
    const installed = catalog.install([kindOf('widgets'), kindOf('gadgets')]);
    expect(changes[0]?.snapshot).toBe(catalog.snapshot());
    installed.uninstall();
    installed.uninstall();
    unsubscribe();
    catalog.install([kindOf('widgets')]);
    const both = ['gadgets.v1.example.com', 'widgets.v1.example.com'];
    expect(changes.map(({ added, removed }) => [names(added), names(removed)])).toEqual([
      [both, []],
      [[], both],
    ]);
  });

  test('replace is one change, which does not affect kinds that stay', () => {
    const catalog = new Catalog();
    const closed: string[] = [];
    const closing = (name: string): Rest => ({ close: () => void closed.push(name) });
    const stays = kindOf('stays', { rest: closing('stays') });
    const installed = catalog.install([kindOf('widgets', { rest: closing('widgets') }), stays]);
    const changes: CatalogChange[] = [];
    catalog.onChange((change) => changes.push(change));
    const newer = kindOf('widgets', { rest: closing('newer') });
    installed.replace([stays, newer]);
    expect(changes.map(({ added, removed }) => [added, names(removed)])).toEqual([
      [[newer], ['widgets.v1.example.com']],
    ]);
    expect(closed).toEqual(['widgets']);
    expect(installed.kinds).toEqual([stays, newer]);
    catalog.install([kindOf('others')]);
    expect(() => installed.replace([kindOf('others')])).toThrow('installed twice');
    expect(catalog.snapshot().get('example.com', 'v1', 'stays')).toBe(stays);
    expect(closed).toEqual(['widgets']);
  });
});

describe('close', () => {
  test('is called when the last kind of a store is uninstalled, after listeners have seen the change', () => {
    const catalog = new Catalog();
    const events: string[] = [];
    const rest: Rest = { close: () => void events.push('closed') };
    const first = catalog.install([kindOf('widgets', { rest })]);
    const second = catalog.install([kindOf('widgets', { version: 'v2', rest })]);
    catalog.onChange(({ removed }) => void events.push(`removed ${names(removed).join(' ')}`));
    first.uninstall();
    second.uninstall();
    expect(events).toEqual([
      'removed widgets.v1.example.com',
      'removed widgets.v2.example.com',
      'closed',
    ]);
  });

  test('of the catalog closes every store and keeps the kinds', () => {
    const catalog = new Catalog();
    let closed = 0;
    const rest: Rest = { close: () => void closed++ };
    catalog.install([kindOf('a', { rest }), kindOf('b', { rest: { close: () => void closed++ } })]);
    catalog.close();
    expect([closed, catalog.snapshot().size]).toEqual([2, 2]);
  });
});
