// The resource componentstatuses: nothing stored, but asked when somebody asks. Deprecated, and of the components only the one
// that the API server itself knows can be asked: its store.

import { decodeObject } from '../../../../api/codec/index.ts';
import type { ComponentStatus } from '../../../../api/core/v1/index.ts';
import { componentStatuses } from '../../../../api/core/v1/index.ts';
import { messageDescriptor } from '../../../../api/schema/compile.ts';
import * as apierrors from '../../../../machinery/apierrors.ts';
import { componentStatusTable } from '../../../printers/quota.ts';
import { FreshObject } from '../../encoded-object.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';

const STORE = 'etcd-0';
/** A key that nobody writes: what matters is that there is an answer. */
const PROBE = '/registry/health';

export function componentStatusResource({ storage }: Pick<RegistryServices, 'storage'>): ServedResource {
  async function probe(): Promise<ComponentStatus> {
    let condition: NonNullable<ComponentStatus['conditions']>[number];
    try {
      await storage.get(PROBE);
      condition = { type: 'Healthy', status: 'True', message: 'ok' };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      condition = { type: 'Healthy', status: 'False', message: '', error: why };
    }
    const made = { apiVersion: 'v1', kind: 'ComponentStatus', metadata: { name: STORE }, conditions: [condition] };
    return decodeObject<ComponentStatus>(messageDescriptor('core/v1.ComponentStatus'), made).object;
  }

  return {
    type: componentStatuses,
    table: componentStatusTable,
    deprecation: 'v1 ComponentStatus is deprecated in v1.19+',
    rest: {
      get: async (_context, name) => {
        if (name !== STORE) throw apierrors.notFound(componentStatuses, name);
        return new FreshObject(await probe());
      },
      list: async (_context, { selection }) => {
        const object = await probe();
        const isSelected = selection.matches({ object: () => object, decoded: () => ({ object, fields: undefined }) }, undefined);
        return { items: isSelected ? [new FreshObject(object)] : [], resourceVersion: '' };
      },
    },
  };
}
