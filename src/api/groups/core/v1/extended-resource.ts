// Names of resources.

/** Reports whether the resource is an extended resource, such as example.com/gpu. */
export function isExtendedResourceName(name: string): boolean {
  const slash = name.indexOf('/');
  if (slash < 0 || name.startsWith('requests.')) return false;
  return !name.slice(0, slash + 1).endsWith('kubernetes.io/');
}
