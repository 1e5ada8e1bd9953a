// The flags of a command as /flagz shows them.

/** `options`: as commander has parsed them, by camelCase name. Durations are numbers of milliseconds there. */
export function flagValues(options: object): Readonly<Record<string, string>> {
  const entries = Object.entries(options).flatMap(
    ([name, value]: [string, unknown]): (readonly [string, string])[] => {
      if (value === undefined) return [];
      return [
        [name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), textOf(name, value)],
      ];
    },
  );
  return Object.fromEntries(entries);
}

function textOf(name: string, value: unknown): string {
  // Upstream's --min-request-timeout is a number of seconds, no duration.
  const isDuration =
    /(Duration|Deadline|Period|Timeout|Ttl)$/.test(name) && name !== 'minRequestTimeout';
  if (typeof value === 'number' && isDuration) return `${value / 1000}s`;
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([key, item]) => `${key}=${String(item)}`)
      .join(',');
  }
  return String(value);
}
