import './elements/console-app.ts';
