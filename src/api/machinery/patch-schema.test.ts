import { describe, expect, test } from 'vitest';
import { applyStrategicMergePatch } from '#machinery/patch/strategic-merge-patch.ts';
import { patchSchema } from './patch-schema.ts';
import { allSchemas } from '#api/all-schemas.ts';

describe('patchSchema', () => {
  const pod = patchSchema(allSchemas.message('core/v1.Pod'));

  test('has keys, strategies and maps', () => {
    const spec = pod.field('spec')?.schema;
    expect(spec?.name).toBe('PodSpec');
    expect(spec?.field('containers')).toMatchObject({
      patchStrategy: ['merge'],
      patchMergeKey: 'name',
    });
    expect(spec?.field('volumes')).toMatchObject({
      patchStrategy: ['merge', 'retainKeys'],
      patchMergeKey: 'name',
    });
    expect(spec?.field('tolerations')?.patchStrategy).toBeUndefined();
    expect(spec?.field('nothing')).toBeUndefined();
    expect(
      pod.field('metadata')?.schema?.field('labels')?.schema?.field('any')?.schema,
    ).toBeUndefined();
  });

  test('merges a pod', () => {
    const original = {
      spec: {
        containers: [
          { name: 'a', image: '1' },
          { name: 'b', ports: [{ containerPort: 1, name: 'x' }] },
        ],
      },
    };
    const patch = {
      spec: {
        containers: [
          { name: 'b', ports: [{ containerPort: 1, name: 'y' }, { containerPort: 2 }] },
          { name: 'a', $patch: 'delete' },
        ],
      },
    };
    expect(applyStrategicMergePatch(original, patch, pod)).toEqual({
      spec: {
        containers: [{ name: 'b', ports: [{ containerPort: 1, name: 'y' }, { containerPort: 2 }] }],
      },
    });
  });
});
