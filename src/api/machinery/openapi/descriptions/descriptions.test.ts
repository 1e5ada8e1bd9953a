import { describe, expect, it } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { describeField, descriptions, describeType } from './index.ts';

describe('descriptions', () => {
  it('are of types and fields that there are', () => {
    for (const [key, { fields = {} }] of Object.entries(descriptions)) {
      const message = allSchemas.message(key);
      for (const field of Object.keys(fields)) expect(message.byName.has(field), `${key}.${field}`).toBe(true);
    }
  });

  it('say everything of what is looked at first', () => {
    for (const key of [
      'core/v1.Pod',
      'core/v1.Container',
      'core/v1.PodStatus',
      'apps/v1.ReplicaSet',
      'apps/v1.ReplicaSetSpec',
      'meta/v1.ObjectMeta',
    ]) {
      expect(describeType(key), key).toBeDefined();
    }
    for (const key of [
      'core/v1.Container',
      'core/v1.ServiceSpec',
      'core/v1.NodeStatus',
      'apps/v1.ReplicaSetSpec',
      'meta/v1.ObjectMeta',
    ]) {
      for (const { name } of allSchemas.message(key).fields)
        expect(describeField(key, name, false), `${key}.${name}`).toBeDefined();
    }
  });

  it('tell the metadata of lists from that of objects', () => {
    expect(describeField('core/v1.PodList', 'metadata', true)).toMatch(/version that the list was read at/);
    expect(describeField('core/v1.Pod', 'metadata', true)).toMatch(/name, namespace, labels/);
  });

  it('are sentences', () => {
    for (const [key, { type, fields = {} }] of Object.entries(descriptions)) {
      for (const text of [type, ...Object.values(fields)]) expect(text, key).toMatch(/^[A-Za-z/$0-9].*\.$/);
    }
  });
});
