// DefaultBinder: tells the API server which node a pod is to run on.

import { pods } from '#api/groups/core/v1/index.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { BindPlugin } from '../framework/plugin.ts';
import { noArgs } from './args.ts';

export const defaultBinder: PluginRegistration = {
  name: 'DefaultBinder',
  create(args, { client }) {
    noArgs(defaultBinder.name, args);
    return {
      name: defaultBinder.name,
      async bind(_state, { pod }, node, signal) {
        const { name, namespace = '', uid } = pod.metadata;
        const binding = {
          apiVersion: 'v1',
          kind: 'Binding',
          // With the UID, a pod of the same name that has come since is not bound in this one's
          // place.
          metadata: { name, namespace, uid },
          target: { kind: 'Node', name: node },
        };
        await client
          .resource(pods)
          .namespace(namespace)
          .subresource(name, 'binding', binding, { signal });
        return undefined;
      },
    } satisfies BindPlugin;
  },
};
