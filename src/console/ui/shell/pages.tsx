// The pages by address. Each is loaded when it is first shown, except those that most visits begin
// with.

import { lazy, type ReactNode } from 'react';
import { Route, Switch } from 'wouter';
import { namespaceOf, textOf } from '../data/routes.ts';
import { ListPage } from '../pages/list.tsx';
import { Overview } from '../pages/overview.tsx';
import { Empty } from '../parts/basics.tsx';

const ObjectPage = lazy(async () => ({
  default: (await import('../pages/object.tsx')).ObjectPage,
}));

export const Pages = (): ReactNode => (
  <Switch>
    <Route path="/">
      <Overview />
    </Route>
    <Route path="/list/:type/:filter?">
      {({ type, filter }) => (
        <ListPage key={type} typeName={textOf(type)} initialFilter={textOf(filter ?? '')} />
      )}
    </Route>
    <Route path="/object/:type/:namespace/:name/:tab?">
      {({ type, namespace, name, tab }) => (
        <ObjectPage
          key={`${type}/${namespace}/${name}`}
          typeName={textOf(type)}
          namespace={namespaceOf(textOf(namespace))}
          name={textOf(name)}
          tab={tab}
        />
      )}
    </Route>
    <Route>
      <h1 className="page-title">Not found</h1>
      <Empty>There is no such page.</Empty>
    </Route>
  </Switch>
);
