import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { live } from './state/live.svelte';
import { route } from './state/route.svelte';

// A view of another depth would find it elsewhere: what is resolved stays.
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
if (icon) icon.setAttribute('href', icon.href);

route.start();
live.start();
mount(App, { target: document.getElementById('page')! });
