"""The calls around the chat: models, endpoints, tools, the page. One entry for each: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from odysseus.web import endpoints, models, tools
from odysseus.web.openapi import answers
from odysseus.web.openapi.operation import CHANGES, Answer, Body, Operation, Parameter, of_file, said

ENDPOINT = Parameter("endpoint", "path", "The id of an endpoint that was added")

MODELS: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/models",
        id="listModels",
        tag="Models",
        summary="List what can be chosen",
        parameters=(Parameter("refresh", "query", "`1` asks every endpoint anew", Literal["0", "1"]),),
        answers=said("The endpoints with their models", answers.Models),
    ),
    Operation(
        method="get",
        path="/api/models/install",
        id="installProgress",
        tag="Models",
        summary="Tell how far the install of the embedded model is",
        answers=said("Before any install: what would be installed", answers.Install),
    ),
    Operation(
        method="post",
        path="/api/models/install",
        id="startInstall",
        tag="Models",
        summary="Install an embedded model",
        body=Body(models.InstallRequest, required=False),
        answers=said("It has begun", answers.Install, status=202),
        errors=(404, 409),
    ),
    Operation(
        method="delete",
        path="/api/models/install",
        id="cancelInstall",
        tag="Models",
        summary="Cancel the install",
        answers=said("How far it came", answers.Install),
    ),
    Operation(
        method="get",
        path="/api/tools",
        id="listTools",
        tag="Models",
        summary="List the tools of the agent",
        answers=said("The tools, and the MCP servers", answers.Toolbox),
    ),
    Operation(
        method="patch",
        path="/api/tools/{tool}",
        id="changeTool",
        tag="Models",
        summary="Choose whether a tool of the agent runs, asks, or never runs",
        description="It holds from the next run on, also for a card that waits. What the settings deny stays denied.",
        parameters=(Parameter("tool", "path", "The tool's name"),),
        body=Body(tools.ToolChange, example={"policy": "ask"}),
        answers=said("The tool as it is now", answers.ToolInfo),
        errors=(*CHANGES, 409),
    ),
)

ENDPOINTS: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/endpoints",
        id="listEndpoints",
        tag="Endpoints",
        summary="List the endpoints",
        answers=said("Those of the settings, then those that were added", list[answers.Endpoint]),
    ),
    Operation(
        method="get",
        path="/api/endpoints/found",
        id="findEndpoints",
        tag="Endpoints",
        summary="Look for model servers on this machine",
        answers=said("Those that answer and are not endpoints yet", list[answers.FoundEndpoint]),
    ),
    Operation(
        method="post",
        path="/api/endpoints",
        id="addEndpoint",
        tag="Endpoints",
        summary="Add an endpoint",
        body=Body(endpoints.NewEndpoint, example={"base_url": "http://127.0.0.1:11434"}),
        answers=said("The endpoint", answers.Endpoint),
        errors=(507,),
    ),
    Operation(
        method="post",
        path="/api/endpoints/test",
        id="testEndpoint",
        tag="Endpoints",
        summary="Ask what speaks at an address; nothing is kept",
        body=Body(endpoints.NewEndpoint, example={"base_url": "http://127.0.0.1:11434"}),
        answers=said("What was found", answers.FoundEndpoint),
    ),
    Operation(
        method="patch",
        path="/api/endpoints/{endpoint}",
        id="changeEndpoint",
        tag="Endpoints",
        summary="Change an endpoint that was added",
        parameters=(ENDPOINT,),
        body=Body(endpoints.EndpointChange, required=False),
        answers=said("The endpoint as it is now", answers.Endpoint),
        errors=CHANGES,
    ),
    Operation(
        method="delete",
        path="/api/endpoints/{endpoint}",
        id="removeEndpoint",
        tag="Endpoints",
        summary="Remove an endpoint that was added",
        parameters=(ENDPOINT,),
        answers=said("It is gone", answers.Deleted),
        errors=CHANGES,
    ),
)

SERVER: Sequence[Operation] = (
    Operation(
        method="get",
        path="/",
        id="page",
        tag="Server",
        summary="The page",
        parameters=(Parameter("token", "query", "The server's token, to be kept in a cookie"),),
        answers={**of_file("The page", "text/html"), 303: Answer("The token is kept; go on without it")},
    ),
    Operation(
        method="get",
        path="/static/{path}",
        id="staticFile",
        tag="Server",
        summary="The page's files",
        parameters=(Parameter("path", "path", "Its path, which may have slashes"),),
        answers=of_file("The file", "*/*"),
        errors=(404,),
    ),
    Operation(
        method="get",
        path="/sw.js",
        id="serviceWorker",
        tag="Server",
        summary="The page's service worker, which keeps the page's files",
        answers=of_file("The script", "text/javascript"),
    ),
    Operation(
        method="get",
        path="/docs",
        id="docs",
        tag="Server",
        summary="This description as a page",
        answers=of_file("The page", "text/html"),
    ),
    Operation(
        method="get",
        path="/openapi.json",
        id="openapi",
        tag="Server",
        summary="This description",
        answers=said("An OpenAPI document", dict[str, Any]),
    ),
    Operation(
        method="get",
        path="/api/health",
        id="health",
        tag="Server",
        summary="Whether the server is up",
        answers=said("It is", answers.Health),
    ),
)
