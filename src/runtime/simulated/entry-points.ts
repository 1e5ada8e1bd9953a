// The default commands of well-known base images, which are a shell. Without an input a shell ends
// at once, so a pod of a bare `busybox` completes, as on a real node.

const shells: Readonly<Record<string, string>> = {
  alpine: 'sh',
  bash: 'bash',
  busybox: 'sh',
  debian: 'bash',
  ubuntu: 'bash',
};

/**
 * Returns the default command; empty for unknown images, which are treated as servers. `image`: a
 * name or reference, of any registry.
 */
export function entryPoint(image: string): readonly string[] {
  const name = /([^/:@]+)(?::[^/@]*)?(?:@.*)?$/.exec(image)?.[1] ?? '';
  const shell = Object.hasOwn(shells, name) ? shells[name] : undefined;
  return shell === undefined ? [] : [shell];
}
