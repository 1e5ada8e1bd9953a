import { describe, expect, test } from 'vitest';
import {
  beyondLimit,
  newRevision,
  nextRevision,
  type ReadRevision,
  type RevisionData,
  templateData,
  templateOf,
} from './index.ts';

const data = (image: string): RevisionData =>
  templateData({
    metadata: { labels: { app: 'db' } },
    spec: { containers: [{ name: 'c', image, resources: {} }] },
  } as never);
const revision = (image: string, number: number): ReadRevision =>
  ({ metadata: { name: `db-${number}` }, data: data(image), revision: number }) as never;
const names = (revisions: readonly ReadRevision[]) =>
  revisions.map(({ metadata }) => metadata.name);

describe('revisions', () => {
  test('keep the template, as a patch that replaces it', () => {
    expect(data('one')).toMatchObject({
      spec: { template: { $patch: 'replace', metadata: { labels: { app: 'db' } } } },
    });
    expect(JSON.stringify(data('one'))).toBe(
      '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"db"}},' +
        '"spec":{"containers":[{"image":"one","name":"c","resources":{}}]}}}}',
    );
    expect(templateOf(revision('one', 1)).spec.containers[0]?.image).toBe('one');
    expect(templateOf(revision('one', 1))).not.toHaveProperty('$patch');
    expect(() => templateOf({ metadata: { name: 'odd' }, data: null } as never)).toThrow(
      'ControllerRevision odd keeps no template',
    );
  });

  test('are the current one, an earlier one again, or new', () => {
    const present = [revision('one', 1), revision('two', 2)];
    expect(nextRevision([], data('one'))).toEqual({ kind: 'new', number: 1 });
    expect(nextRevision(present, data('three'))).toEqual({ kind: 'new', number: 3 });
    expect(nextRevision(present, data('two'))).toEqual({ kind: 'present', revision: present[1] });
    expect(nextRevision(present, data('one'))).toEqual({
      kind: 'again',
      revision: present[0],
      number: 3,
    });
  });

  test('have names that depend on their data, and other names after a collision', () => {
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'default', uid: 'u' },
    } as never;
    const nameOf = (image: string, collisionCount?: number) =>
      newRevision({ owner, labels: {}, data: data(image), revision: 1, collisionCount }).metadata
        .name;
    expect(nameOf('one')).toMatch(/^db-[a-z0-9]+$/);
    expect(nameOf('one', 0)).toBe(nameOf('one'));
    expect(new Set([nameOf('one'), nameOf('two'), nameOf('one', 1)]).size).toBe(3);
  });

  test('beyond the limit are deleted if no pod uses them, the oldest first', () => {
    const all = [1, 2, 3, 4, 5].map((number) => revision(String(number), number));
    const live = new Set(['db-2', 'db-5']);
    expect(names(beyondLimit(all, live, 1))).toEqual(['db-1', 'db-3']);
    expect(beyondLimit(all, live, 3)).toEqual([]);
    expect(beyondLimit(all, live, -1)).toEqual([]);
  });
});
