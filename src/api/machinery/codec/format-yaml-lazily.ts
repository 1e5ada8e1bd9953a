// YAML output for components that rarely need it.

/**
 * Encodes an object as YAML. The encoder is loaded on first use, so that other processes start
 * without it.
 */
export async function formatYamlLazily(object: object): Promise<string> {
  return (await import('./format-yaml.ts')).formatYaml(object);
}
