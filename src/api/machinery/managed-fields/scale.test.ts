// The owners of replicas, in the object and in its Scale. The cases are those of upstream's tests.

import { describe, expect, test } from 'vitest';
import { decodeManagers, type ManagedFieldsEntry, managerId } from './managers.ts';
import { parentEntries, scaleEntries } from './scale.ts';

const kind = { apiVersion: 'apps/v1' };

function entry(
  manager: string,
  operation: 'Apply' | 'Update',
  apiVersion: string,
  fields: readonly string[],
  subresource?: string,
): ManagedFieldsEntry {
  return {
    manager,
    operation,
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
    ...(subresource !== undefined && { subresource }),
  };
}

describe('from the object to its Scale', () => {
  test.each<[string, ManagedFieldsEntry[], ManagedFieldsEntry[] | undefined]>([
    ['nobody', [], undefined],
    ['who does not own the replicas', [entry('a', 'Apply', 'apps/v1', ['selector'])], undefined],
    [
      'who does, with nothing else',
      [entry('a', 'Apply', 'apps/v1', ['replicas', 'selector'])],
      [entry('a', 'Apply', 'autoscaling/v1', ['replicas'])],
    ],
    [
      'several, and who scaled before',
      [
        entry('a', 'Apply', 'apps/v1', ['replicas']),
        entry('s', 'Update', 'apps/v1', ['replicas'], 'scale'),
      ],
      [
        entry('a', 'Apply', 'autoscaling/v1', ['replicas']),
        entry('s', 'Update', 'autoscaling/v1', ['replicas'], 'scale'),
      ],
    ],
    [
      'who owns them in a version that is not known',
      [entry('a', 'Apply', 'apps/v10', ['replicas'])],
      undefined,
    ],
  ])('%s', (_, parent, expected) => {
    expect(scaleEntries(parent, kind)).toEqual(expected);
  });
});

describe('from the Scale back to the object', () => {
  test.each<[string, ManagedFieldsEntry[], ManagedFieldsEntry[], ManagedFieldsEntry[] | undefined]>(
    [
      [
        'nothing has changed',
        [entry('a', 'Apply', 'apps/v1', ['replicas', 'selector'])],
        [entry('a', 'Apply', 'autoscaling/v1', ['replicas'])],
        [entry('a', 'Apply', 'apps/v1', ['replicas', 'selector'])],
      ],
      ...(['Apply', 'Update'] as const).flatMap((before) =>
        (['Apply', 'Update'] as const).map(
          (after): [string, ManagedFieldsEntry[], ManagedFieldsEntry[], ManagedFieldsEntry[]] => [
            `an ${after} takes the replicas from an ${before}`,
            [entry('test', before, 'apps/v1', ['replicas', 'selector'])],
            [entry('scale', after, 'autoscaling/v1', ['replicas'], 'scale')],
            [
              entry('scale', after, 'apps/v1', ['replicas'], 'scale'),
              entry('test', before, 'apps/v1', ['selector']),
            ].sort((a, b) =>
              `${a.operation} ${a.manager}` < `${b.operation} ${b.manager}` ? -1 : 1,
            ),
          ],
        ),
      ),
      [
        'the same manager is another one when it scales',
        [entry('test', 'Apply', 'apps/v1', ['replicas', 'selector'])],
        [entry('test', 'Apply', 'autoscaling/v1', ['replicas'], 'scale')],
        [
          entry('test', 'Apply', 'apps/v1', ['selector']),
          entry('test', 'Apply', 'apps/v1', ['replicas'], 'scale'),
        ],
      ],
      [
        'shared, not taken',
        [entry('test', 'Apply', 'apps/v1', ['replicas', 'selector'])],
        [
          entry('test', 'Apply', 'autoscaling/v1', ['replicas']),
          entry('test', 'Apply', 'autoscaling/v1', ['replicas'], 'scale'),
        ],
        [
          entry('test', 'Apply', 'apps/v1', ['replicas', 'selector']),
          entry('test', 'Apply', 'apps/v1', ['replicas'], 'scale'),
        ],
      ],
      [
        'who has nothing left goes',
        [entry('test', 'Apply', 'apps/v1', ['replicas'])],
        [entry('scale', 'Update', 'autoscaling/v1', ['replicas'], 'scale')],
        [entry('scale', 'Update', 'apps/v1', ['replicas'], 'scale')],
      ],
      [
        'who owns something else of the Scale owns nothing of the object',
        [entry('test', 'Apply', 'apps/v1', ['selector'])],
        [entry('scale', 'Update', 'autoscaling/v1', ['other'], 'scale')],
        [entry('test', 'Apply', 'apps/v1', ['selector'])],
      ],
      [
        'owners in a version that is not known go',
        [entry('test', 'Apply', 'apps/v10', ['selector'])],
        [entry('scale', 'Update', 'autoscaling/v1', ['replicas'], 'scale')],
        [entry('scale', 'Update', 'apps/v1', ['replicas'], 'scale')],
      ],
      [
        'the replicas lose their owner',
        [entry('test', 'Apply', 'apps/v1', ['replicas'])],
        [],
        undefined,
      ],
    ],
  )('%s', (_, parent, scale, expected) => {
    expect(parentEntries(parent, scale, kind)).toEqual(expected);
  });
  test('managers keep their identities, which decoding remembers', () => {
    const scaled = parentEntries(
      [entry('test', 'Apply', 'apps/v1', ['replicas'])],
      [entry('scale', 'Apply', 'autoscaling/v1', ['replicas'], 'scale')],
      kind,
    );
    const updated = scaleEntries([entry('test', 'Update', 'apps/v1', ['replicas'])], kind);
    for (const entries of [scaled, updated])
      for (const [id, manager] of decodeManagers(entries, true))
        expect(id).toBe(managerId(manager));
  });
  test('an owner that keeps the replicas keeps its time', () => {
    const time = '2026-01-01T00:00:00Z';
    const parent = [{ ...entry('s', 'Update', 'apps/v1', ['replicas'], 'scale'), time }];
    expect(parentEntries(parent, scaleEntries(parent, kind), kind)).toEqual(parent);
  });
});
