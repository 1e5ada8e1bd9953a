// DefaultBinder: binds a pod through the API server.

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
          // The UID ensures that a new pod with the same name is not bound instead.
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
