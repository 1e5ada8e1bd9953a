// YAML for what is rarely asked for in it.

/** Encodes an object as YAML. The encoder is loaded with the first one, so that processes that need none start without it. */
export async function formatYamlLazily(object: object): Promise<string> {
  return (await import('./format-yaml.ts')).formatYaml(object);
}
