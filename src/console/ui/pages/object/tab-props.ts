// The properties of every tab of an object's page.

import type { KubeObject } from '../../data/lists/live-object.ts';
import type { ResourceType } from '../../data/server/resource-type.ts';

export interface TabProps {
  readonly type: ResourceType;
  readonly object: KubeObject;
}
