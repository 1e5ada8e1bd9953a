// The fields of a managedFields entry as paths: '.spec.containers[name=web].image'.

type Fields = Readonly<Record<string, unknown>>;

/** Entries of hostile depth or size are cut. */
const MAX_PATHS = 2000;
const MAX_DEPTH = 64;

export function fieldPaths(fields: Fields): readonly string[] {
  const paths: string[] = [];
  const visit = (node: Fields, path: string, depth: number): void => {
    const keys = Object.keys(node).filter((key) => key !== '.');
    if (keys.length === 0 || depth >= MAX_DEPTH) {
      if (path !== '') paths.push(path);
      return;
    }
    for (const key of keys) {
      if (paths.length >= MAX_PATHS) return;
      const child = node[key];
      visit(
        typeof child === 'object' && child !== null ? (child as Fields) : {},
        path + stepOf(key),
        depth + 1,
      );
    }
  };
  visit(fields, '', 0);
  return paths;
}

/** Returns the path of a key: f: a field, k: an item by its keys, v: a value of a set, i: an index. */
function stepOf(key: string): string {
  const rest = key.slice(2);
  switch (key.slice(0, 2)) {
    case 'f:':
      return /^[\w-]+$/.test(rest) ? `.${rest}` : `[${JSON.stringify(rest)}]`;
    case 'k:':
      return `[${keysOf(rest)}]`;
    case 'v:':
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}

function keysOf(json: string): string {
  try {
    const keys = JSON.parse(json) as Fields;
    return Object.entries(keys)
      .map(
        ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      )
      .join(',');
  } catch (error) {
    if (error instanceof SyntaxError) return json;
    throw error;
  }
}
