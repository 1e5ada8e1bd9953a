// Which resources are extended resources: those that device plugins, or clients of the Node, add.

import { isQualifiedName } from '#machinery/validation/validation.ts';

const QUOTA_PREFIX = 'requests.';

/** Reports whether the resource has the name of an extended resource, such as example.com/gpu. */
export function isExtendedResource(name: string): boolean {
  if (!name.includes('/') || name.includes('kubernetes.io/') || name.startsWith(QUOTA_PREFIX))
    return false;
  return isQualifiedName(QUOTA_PREFIX + name).length === 0;
}
