// Two leaders act at once: a lease does not fence the writes of the one before.

import { configMaps, secrets } from '#api/groups/core/v1/index.ts';
import { withCluster } from '#cluster/embedded/testing.ts';
import { defineController } from '#controllers/operator/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ScenarioExhibit } from '../exhibit.ts';
import { ignoring } from '../parts.ts';

const starter = (fixed: boolean) =>
  defineController('starter', ({ client, for: reconciles }) => {
    const all = reconciles(configMaps);
    const started = new Set<string>();
    return async ({ namespace, name, key }) => {
      if (all.lister.get(namespace, name)?.data?.['start'] === undefined || started.has(key))
        return;
      const metadata = fixed
        ? { name: `${name}-job`, namespace }
        : { generateName: `${name}-job-`, namespace };
      await client
        .resource(secrets)
        .create({ metadata })
        .catch(ignoring(apierrors.isAlreadyExists));
      started.add(key);
    };
  });

export const exhibit: ScenarioExhibit = {
  bug: 'a job is started by two leaders',
  sources: ['https://pkg.go.dev/k8s.io/client-go/tools/leaderelection'],
  found: /2 jobs were started/,
  scenario: (fixed) =>
    withCluster({ clock: 'virtual', nodes: 0, controllers: ['-*'] }, async (cluster) => {
      const controllers = ['a', 'b'].map((identity) =>
        cluster.runController(starter(fixed), {
          leaderElection: { namespace: 'default', name: 'starter', identity },
        }),
      );
      await cluster.clock.advance('5s');
      cluster.faults.twoLeaders('starter');
      await cluster.clock.advance('6s');
      const metadata = { name: 'task', namespace: 'default' };
      await cluster.client.resource(configMaps).create({ metadata, data: { start: 'now' } });
      await cluster.clock.advance('1m');
      // The one that has lost its lease has ended with an error.
      await Promise.allSettled(controllers.map((controller) => controller.stop()));
      const jobs = await cluster.list(secrets, { namespace: 'default' });
      if (jobs.length !== 1) throw new Error(`${jobs.length} jobs were started`);
    }),
};
