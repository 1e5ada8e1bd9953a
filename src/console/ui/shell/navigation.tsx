// The navigation: pages first, then kinds by category, custom ones by their group.

import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Category, categorize, pluralTitle } from '../data/lists/categories.ts';
import { printable } from '../data/text/printable.ts';
import { type ResourceType, typeId } from '../data/server/resource-type.ts';
import { listRoute, textOf } from '../data/server/routes.ts';
import { useTypes } from '../parts/hooks.ts';
import { useServices } from '../services.ts';
import type { ExtraName } from '../data/server/extras.ts';

const PAGES: readonly (readonly [title: string, route: string, needs?: ExtraName])[] = [
  ['Overview', '/'],
  ['Map', '/map'],
  ['Usage', '/usage'],
  ['Who can', '/who-can'],
  ['Apply YAML', '/apply'],
  ['Timeline', '/timeline'],
  ['Traffic', '/traffic', 'traffic'],
  ['Scheduler', '/scheduler', 'scheduler'],
  ['Time and forks', '/clock', 'clock'],
];

/** These categories are open at first; the others when a kind of theirs is shown. */
const OPEN = new Set(['Workloads', 'Network', 'Cluster']);

export function Navigation(): ReactNode {
  const types = useTypes();
  const categories = useMemo(() => categorize(types.all), [types]);
  const [location] = useLocation();
  const current = /^\/(?:list|object)\/([^/]+)/.exec(location)?.[1];
  const id = current === undefined ? undefined : textOf(current);
  return (
    <>
      <ul className="nav-list">
        {PAGES.map(([title, route, needs]) => (
          <PageEntry key={route} title={title} route={route} needs={needs} location={location} />
        ))}
      </ul>
      {categories.map((category) => (
        <CategoryEntry key={category.title} category={category} current={id} />
      ))}
    </>
  );
}

function PageEntry({
  title,
  route,
  needs,
  location,
}: {
  readonly title: string;
  readonly route: string;
  readonly needs: ExtraName | undefined;
  readonly location: string;
}): ReactNode {
  const { extras } = useServices();
  const [shown, setShown] = useState(needs === undefined);
  useEffect(() => {
    if (needs === undefined) return;
    // A server that is away is asked again when the navigation is shown again.
    extras.has(needs).then(setShown, () => undefined);
  }, [extras, needs]);
  if (!shown) return null;
  return (
    <li>
      <Link
        href={route}
        className={`nav-link${location === route ? ' nav-current' : ''}`}
        aria-current={location === route ? 'page' : undefined}
      >
        {title}
      </Link>
    </li>
  );
}

function CategoryEntry({
  category: { title, types },
  current,
}: {
  readonly category: Category;
  readonly current: string | undefined;
}): ReactNode {
  const hasCurrent = types.some((type) => typeId(type) === current);
  const [open, setOpen] = useState(OPEN.has(title));
  useEffect(() => {
    if (hasCurrent) setOpen(true);
  }, [hasCurrent]);
  return (
    <div className="nav-category">
      <button
        type="button"
        className="nav-title"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <span className="nav-chevron" aria-hidden="true">
          ›
        </span>
        {printable(title)}
      </button>
      {open && (
        <ul className="nav-list">
          {types.map((type) => (
            <KindEntry key={typeId(type)} type={type} current={typeId(type) === current} />
          ))}
        </ul>
      )}
    </div>
  );
}

const KindEntry = ({
  type,
  current,
}: {
  readonly type: ResourceType;
  readonly current: boolean;
}): ReactNode => (
  <li>
    <Link
      href={listRoute(type)}
      className={`nav-link${current ? ' nav-current' : ''}`}
      aria-current={current ? 'page' : undefined}
    >
      {printable(pluralTitle(type))}
    </Link>
  </li>
);
