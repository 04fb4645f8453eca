/*
 * Not a module, so that it runs before the first paint: a dark page must not flash white. Web Awesome takes its colours
 * from a class.
 */
{
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('wa-dark', dark.matches);
  apply();
  dark.addEventListener('change', apply);
}
