import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';
import { AdmissionChain } from './chain.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const pods = { group: '', version: 'v1', resource: 'pods' };
const nodes = { group: '', version: 'v1', resource: 'nodes' };

function write(
  resource: AdmissionAttributes['resource'],
  dryRun = false,
): AdmissionAttributes & { readonly object: KubeObject } {
  return {
    operation: 'CREATE',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource,
    subresource: '',
    namespace: 'default',
    name: 'a',
    object: { metadata: { name: 'a' } } as KubeObject,
    query: new URLSearchParams(),
    dryRun,
    user: { name: 'u', groups: [] },
    warnings: [],
  };
}

/** Returns a plugin that adds a label with its name, and records its calls. */
function labeller(
  name: string,
  rules: Pick<AdmissionPlugin, 'concerns' | 'handles'>,
  log: string[],
  late = false,
): AdmissionPlugin {
  const label = (object: KubeObject): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, [name]: '' } },
  });
  return {
    name,
    ...rules,
    admit: ({ object }) => (late ? Promise.resolve(label(object)) : label(object)),
    validate({ object }) {
      log.push(`${name} validates ${Object.keys(object?.metadata.labels ?? {}).join(',')}`);
    },
  };
}

describe('the chain of admission plugins', () => {
  test('calls the plugins concerned by a write, in order, each with the object of the one before', async () => {
    const log: string[] = [];
    const concernsCalls: string[] = [];
    const chain = new AdmissionChain([
      labeller('always', {}, log, true),
      labeller(
        'of-pods',
        {
          concerns: ({ resource }) => {
            concernsCalls.push(resource.resource);
            return resource === pods;
          },
        },
        log,
      ),
      labeller('not-dry', { handles: ({ dryRun }) => !dryRun }, log),
    ]);
    const labelsOf = async (attributes: ReturnType<typeof write>): Promise<string[]> => {
      const object = await chain.admit(attributes);
      await chain.validate({ ...attributes, object });
      return Object.keys(object.metadata.labels ?? {});
    };
    expect(await labelsOf(write(pods))).toEqual(['always', 'of-pods', 'not-dry']);
    expect(await labelsOf(write(pods, true))).toEqual(['always', 'of-pods']);
    expect(await labelsOf(write(nodes))).toEqual(['always', 'not-dry']);
    expect(await labelsOf(write(nodes))).toEqual(['always', 'not-dry']);
    expect(concernsCalls).toEqual(['pods', 'nodes']);
    expect(log).toEqual([
      'always validates always,of-pods,not-dry',
      'of-pods validates always,of-pods,not-dry',
      'not-dry validates always,of-pods,not-dry',
      'always validates always,of-pods',
      'of-pods validates always,of-pods',
      'always validates always,not-dry',
      'not-dry validates always,not-dry',
      'always validates always,not-dry',
      'not-dry validates always,not-dry',
    ]);
  });

  test('reports a rejection, synchronous or not', async () => {
    const refusing = (admit: () => KubeObject | Promise<KubeObject>): AdmissionPlugin => ({
      name: 'No',
      admit,
    });
    const no = (): KubeObject => {
      throw new Error('no');
    };
    await expect(new AdmissionChain([refusing(no)]).admit(write(pods))).rejects.toThrow('no');
    await expect(
      new AdmissionChain([refusing(() => Promise.reject(new Error('later')))]).admit(write(pods)),
    ).rejects.toThrow('later');
  });
});
