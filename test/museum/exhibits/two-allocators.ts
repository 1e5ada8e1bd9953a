// Two controllers give the same number to two objects: both look first, and write then.

import { configMaps, secrets } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ControllerDefinition } from '#controllers/operator/index.ts';
import type { ExploreContext } from '#cluster/embedded/explore-context.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { declare, specController } from '../parts.ts';

const NUMBERS = ['1', '2', '3'];

async function numbersDiffer({ cluster, namespace }: ExploreContext): Promise<void> {
  const given = (await cluster.list(configMaps, { namespace }))
    .map(({ data }) => data?.['number'])
    .filter((number) => number !== undefined);
  if (new Set(given).size < given.length) throw new Error(`number ${given[0]} was given twice`);
}

/** Gives numbers to the specs whose name begins with `of`. */
const allocator = (of: string, fixed: boolean): ControllerDefinition =>
  specController(`allocator-${of}`, ({ client, live, note }) => async (spec, request) => {
    if (spec === undefined || !request.name.startsWith(of)) return;
    const current = await live(request);
    if (current === undefined || current.data?.['number'] !== undefined) return;
    const { namespace } = request;
    const { items } = await client.resource(configMaps).namespace(namespace).list();
    const taken = items.map(({ data }) => data?.['number']);
    for (const number of NUMBERS) {
      if (taken.includes(number)) continue;
      if (fixed) {
        // The object of a number is made once: its label names the holder.
        const claim = { name: `number-${number}`, namespace, labels: { holder: request.name } };
        try {
          await client.resource(secrets).create({ metadata: claim });
        } catch (error) {
          if (!apierrors.isAlreadyExists(error)) throw error;
          const { metadata } = await client.resource(secrets).namespace(namespace).get(claim.name);
          if (metadata.labels?.['holder'] !== request.name) continue;
        }
      }
      return note(request, { number });
    }
  });

export const exhibit: ExploredExhibit = {
  bug: 'two allocators that look first and write then give the same number',
  sources: [
    'https://github.com/kubernetes/enhancements/tree/master/keps/sig-network/1880-multiple-service-cidrs',
  ],
  found: /given twice/,
  kinds: ['order'],
  invariant: numbersDiffer,
  // Which of them has which number depends on the order.
  outcome: [],
  reconciler: (fixed) => [allocator('a', fixed), allocator('b', fixed)],
  test: async (run) => {
    await declare(run, 'a', {});
    await declare(run, 'b', {});
  },
};
