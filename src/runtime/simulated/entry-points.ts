// What an image runs when neither command nor arguments are given, for the images of which
// everybody knows it: base images whose command is a shell. Without an input a shell ends at once,
// so a pod of a bare `busybox` completes, as it does on a real node.

const shells: Readonly<Record<string, string>> = {
  alpine: 'sh',
  bash: 'bash',
  busybox: 'sh',
  debian: 'bash',
  ubuntu: 'bash',
};

/**
 * Empty for images of which nothing is known: those are taken for servers. `image` is a name or
 * reference, from whatever registry.
 */
export function entryPoint(image: string): readonly string[] {
  const name = /([^/:@]+)(?::[^/@]*)?(?:@.*)?$/.exec(image)?.[1] ?? '';
  const shell = Object.hasOwn(shells, name) ? shells[name] : undefined;
  return shell === undefined ? [] : [shell];
}
